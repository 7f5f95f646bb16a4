"""Readers of SST-2 and SNLI, vocabulary."""

import pytest

pytest.importorskip("torch")

from qse_papers.words import Vocabulary, read_snli, read_sst2

from qse.errors import QseError


def test_read_sst2(sst2):
    texts, labels = read_sst2(sst2)
    assert (len(texts), texts[0], labels[:2]) == (24, "a fine and moving film 0", [1, 0])


def test_read_sst2_accepts_the_header_content(tmp_path):
    (tmp_path / "train.tsv").write_text("content\tlabel\na fine film\t1\n")
    assert read_sst2(tmp_path / "train.tsv") == (["a fine film"], [1])


def test_read_snli_leaves_out_unlabelled_pairs(snli):
    first, second, labels = read_snli(snli)
    assert (len(first), second[0], labels[:3]) == (24, "A man is awake.", [2, 0, 1])


def test_text_readers_keep_rare_line_separators(tmp_path):
    text = "a\u2028fine\x85film"
    (tmp_path / "a.tsv").write_text(f"sentence\tlabel\n{text}\t1\n", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text(
        f'{{"gold_label": "neutral", "sentence1": "{text}", "sentence2": "{text}"}}\n',
        encoding="utf-8",
    )
    assert read_sst2(tmp_path / "a.tsv") == ([text], [1])
    assert read_snli(tmp_path / "a.jsonl") == ([text], [text], [1])


@pytest.mark.parametrize(
    "read, text",
    [
        (read_sst2, "text\tlabel\na\t1\n"),
        (read_sst2, "sentence\tlabel\na\t5\n"),
        (read_snli, '{"sentence1": "a"}\n'),
        (read_snli, "no JSON\n"),
        (read_sst2, ""),
        (read_snli, None),
    ],
)
def test_text_readers_refuse_other_files(read, text, tmp_path):
    path = tmp_path / "text.tsv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(QseError, match=r"text\.tsv"):
        read(path)


def test_vocabulary_keeps_frequent_words():
    words = Vocabulary(["the cat", "the dog sat", "The cat!"], 4)
    assert len(words) == 4
    assert words.encode(["the unknown cat", ""], 9).tolist() == [[2, 1, 3], [1, 0, 0]]


def test_read_snli_refuses_endless_nesting(tmp_path):
    (tmp_path / "deep.jsonl").write_text(100_000 * "[")
    with pytest.raises(QseError, match=r"deep\.jsonl: not an SNLI file"):
        read_snli(tmp_path / "deep.jsonl")

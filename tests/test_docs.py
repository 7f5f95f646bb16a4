"""Documents name only what exists: test files, tests, files, headings, experiments; the papers'
items are complete."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from qse_papers import EXPERIMENTS

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
PAPERS = ROOT / "docs/papers/README.md"

LINK = re.compile(
    r"\]\(\s*<?([^)\s>]+)|^\[[^\]]+\]:\s*(\S+)|(?:href|src)=\"([^\"]+)\"", re.MULTILINE
)
TEST = re.compile(
    r"(?<![\w/.-])((?:[\w.-]+/)*test_\w+(?:\.py)?(?:::\w+)?|(?:[\w.-]+/)*\w+\.test\.mjs)"
)
TEST_PATH = re.compile(r"(?<![\w/.-])tests/[\w/.-]*\w")
STATES = ("rebuilt", "not rebuilt", "trainable")


def documents() -> list[Path]:
    """Return the Markdown files of the checkout, those that git ignores left out."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.splitlines()
    if not names:
        names = [str(path.relative_to(ROOT)) for path in ROOT.glob("[!.]*/**/*.md")] + ["README.md"]
    return [ROOT / name for name in sorted(names) if (ROOT / name).is_file()]


def prose(text: str) -> str:
    """Return a document without its fenced and indented code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"(?:^\n)(?: {4}.*\n)+", "\n", text, flags=re.MULTILINE)


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of a document."""
    found = Counter[str]()
    names = set(re.findall(r"(?:id|name)=\"([^\"]+)\"", text))
    for heading in re.findall(r"^#+ +(.*?) *#*$", prose(text), flags=re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        names.add(f"{slug}-{found[slug]}" if found[slug] else slug)
        found[slug] += 1
    return names


def test_names_for_users_are_documented():
    pytest.importorskip("torch")
    from qse.evaluate.metrics import METRICS
    from qse.networks.time_mixers import TIME_MIXERS

    for names, document in ((METRICS, "evaluation"), (TIME_MIXERS, "training")):
        text = (ROOT / f"docs/{document}.md").read_text()
        assert [name for name in names if f"`{name}`" not in text] == []


def dead_links(document: Path, text: str) -> list[str]:
    """Return the relative links of a document whose file or heading does not exist."""
    dead = []
    for groups in LINK.findall(prose(text)):
        link = "".join(groups)
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        if not target.exists():
            dead.append(link)
        elif anchor and target.suffix == ".md":
            known = text if target == document else target.read_text()
            if anchor not in anchors(known):
                dead.append(link)
    return dead


@pytest.fixture(scope="module")
def functions() -> dict[Path, set[str]]:
    """Return the test functions of every test file."""
    return {
        path: set(re.findall(r"^ *def (test_\w+)", path.read_text(), re.MULTILINE))
        for path in TESTS.rglob("*.py")
    }


def missing_tests(document: Path, text: str, functions: dict[Path, set[str]]) -> list[str]:
    """Return the tests that a document names and that do not exist.

    A file is named from the repository, from tests/ or from the document, with its ending or
    without; a function by itself or as FILE::NAME. A file in a folder of tests/ is not found
    without the folder: names repeat.
    """
    missing = []
    every = set().union(*functions.values())
    for name in TEST.findall(text):
        file, _, function = name.partition("::")
        ending = "" if file.endswith((".py", ".mjs")) else ".py"
        places = [
            (folder / f"{file}{ending}").resolve() for folder in (ROOT, TESTS, document.parent)
        ]
        found = [place for place in places if place.is_file()]
        if found and (not function or function in functions[found[0]]):
            continue
        if function or file not in every:
            missing.append(name)
    for path in TEST_PATH.findall(text):
        if path not in missing and "test_" not in path and not (ROOT / path).exists():
            missing.append(path)
    return missing


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_documents_hold_no_marks_of_a_merge(document):
    assert not re.findall(r"^(?:<{7}|>{7}) ", document.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_document_is_listed():
    listed = (ROOT / "docs/README.md").read_text()
    for page in [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/log/*.md")]:
        assert page.name == "README.md" or f"]({page.relative_to(ROOT / 'docs')})" in listed, page


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_name_what_exists(document, functions):
    text = document.read_text()
    assert dead_links(document, text) == []
    assert missing_tests(document, text, functions) == []
    named = re.findall(r"qse experiment ([a-z][\w-]*)", text)
    assert [name for name in named if name not in EXPERIMENTS] == []


@pytest.mark.parametrize(
    "link",
    [
        "shared-scores.md#accuracy-in-one-task",
        "no-such.md",
        "#no-such",
        "../nowhere/",
        "../README.md#nothing",
    ],
)
def test_dead_links_are_found(link):
    assert dead_links(PAPERS, f"# Papers\n\n[a wrapped\ntext]({link})") == [link]


@pytest.mark.parametrize(
    "link", ["#a-b-c", "#a-b-c-1", "phm.md#parameter-counts", "../../tests/", "https://nowhere/#x"]
)
def test_live_links_are_not_found(link):
    assert (
        dead_links(PAPERS, f"# `A` b, [C](phm.md)\n# A b c\n\n    # indented\n\n[text]({link})")
        == []
    )


@pytest.mark.parametrize(
    "name",
    [
        "test_attention_parity",
        "test_layers",
        "nn/test_layers",
        "tests/nn/test_theorem.py",
        "tests/nowhere/audio",
        "tests/test_docs.py::test_nothing",
        "test_documents_name",
        "tests/web/node/none.test.mjs",
    ],
)
def test_missing_tests_are_found(name, functions):
    assert missing_tests(PAPERS, f"see `{name}`.", functions) == [name]


@pytest.mark.parametrize(
    "name",
    [
        "test_docs",
        "nn/test_linear",
        "tests/nn/test_linear.py",
        "../../tests/nn/test_linear.py",
        "tests/fuzz",
        "tests/test_docs.py::test_missing_tests_are_found",
        "test_missing_tests_are_found",
        "web/node/wav.test.mjs",
    ],
)
def test_existing_tests_are_not_found(name, functions):
    assert missing_tests(PAPERS, f"see `{name}`.", functions) == []


def numbered(**last: int) -> list[str]:
    """Return "Table 1", "Table 2" and so on up to the last number of each kind; "_" stands for a
    space."""
    names = []
    for kind, count in last.items():
        word = kind.replace("_", " ")
        names += [f"{word} {number}" for number in range(1, count + 1)]
    return names


ITEMS = {
    "Quaternion Self-Attention with Shared Scores": [
        *numbered(Table=15, Figure=6),
        *("Proposition B.1", "Theorem C.1", "Corollary C.2", "Theorem C.3", "Proposition C.4"),
    ],
    "Lightweight and Efficient Neural NLP with Quaternion Networks": numbered(Table=5, Figure=1),
    "Quaternion Recurrent Neural Networks": numbered(Table=3, Figure=1, Algorithm=1),
    "Q-Jamba": numbered(Table=7, Figure=5, Result_table=5),
    "Beyond Fully-Connected Layers with Quaternions": numbered(Table=5, Figure=2),
}
SYSTEMS = {
    "Quaternion Self-Attention with Shared Scores": [
        *(
            "Noisy",
            "SEGAN",
            "TSTNN",
            "MetricGAN+",
            "SE-Conformer",
            "CMGAN",
            "DCCRN",
            "NSE-CATNet",
            "DeepFilterNet3",
        ),
        *(
            "UNIVERSE++",
            "Real-valued Conformer",
            "QDenseNet",
            "QTN (Yang et al.)",
            "QTransformer (Tay et al.)",
        ),
        *("QTransformer (Ours)", "QConformer (Tay et al.)", "QConformer (Ours)"),
    ],
    "Lightweight and Efficient Neural NLP with Quaternion Networks": [
        *("DeAtt, d = 50 and d = 200", "Q-Att", "Transformer", "Quaternion Transformer (full)"),
        *("Quaternion Transformer (partial)", "Transformer Base and its quaternion forms"),
        *("Universal Transformer", "ACT U-Transformer"),
    ],
    "Quaternion Recurrent Neural Networks": ["QRNN", "RNN"],
    "Q-Jamba": [
        *(
            "A0 Standard Transformer",
            "A1 Q-Linear",
            "A2 Q-Jamba 4:2",
            "A3 Q-Mamba",
            "A4 Q-Jamba 5:1",
        ),
        *("A5 Standard, matched", "block-diagonal network", "Standard ViT", "Quaternion ViT"),
    ],
    "Beyond Fully-Connected Layers with Quaternions": [
        *(
            "LSTM",
            "Quaternion LSTM",
            "PHM-LSTM, n = 2, 5, 10",
            "Transformer",
            "Quaternion Transformer",
        ),
        *("PHM-Transformer, n = 2, 4, 8, 16", "PHM-Transformer of twice the width, n = 4, 8, 16"),
    ],
}


@pytest.mark.parametrize("paper", ITEMS)
def test_papers_list_every_item_once(paper):
    section = PAPERS.read_text().split(f"\n## {paper}\n")[1].split("\n## ")[0]
    rows = []
    for line in section.splitlines():
        if line.startswith("| "):
            rows.append([cell.strip() for cell in line.split(" | ")])
    names = Counter(row[0].removeprefix("| ") for row in rows)
    items = Counter(
        {re.sub(r" \(.*", "", name): count for name, count in names.items() if "Figure" in name}
    )
    assert {name: (names | items)[name] for name in ITEMS[paper]} == dict.fromkeys(ITEMS[paper], 1)
    assert {name: names[name] for name in SYSTEMS[paper]} == dict.fromkeys(SYSTEMS[paper], 1)
    for row in rows:
        assert len(row) == 4 and row[3].removesuffix("|").strip(), row
        if row[2] != "state":
            assert any(state in row[2] for state in STATES), row


def scores(document: str, heading: str) -> dict[str, list[str]]:
    """Return {system: cells} of the first table below `heading`, without intervals."""
    text = (ROOT / document).read_text().partition(f"\n{heading}\n")[2]
    head = re.search(r"^\| .*WB-PESQ.*\n\|[-|]+\n", text, re.MULTILINE)
    assert head, document
    first = re.split(r" *\| *", head[0].splitlines()[0])[1:-1].index("WB-PESQ")
    found = {}
    for line in text[head.end() :].splitlines():
        if not line.startswith("|"):
            break
        name, *cells = re.split(r" *\| *", re.sub(r" \([^)]*\)", "", line))[1:-1]
        found[name] = cells[first - 1 :][:3]
    return found


def test_documents_state_the_scores_of_the_tables():
    tables = scores("docs/models-tables.md", "## Scores on unseen sources")
    page = scores("docs/models.md", "## How good they are")
    readme = scores("README.md", "## Models")
    models = [name for name in tables if name.startswith(("live-", "studio-"))]
    assert len(models) == 5 and set(models) <= set(page)
    for name in models:
        assert page[name] == tables[name]
        pesq, stoi, si_sdr = map(float, page[name])
        assert readme[name] == [f"{pesq:.2f}", f"{stoi:.3f}", f"{si_sdr:.1f} dB"], name

"""Each cell of the table of metadata in docs/usage.md, by a run: made by ffmpeg and mutagen, read
by ffprobe."""

import base64
import io
from functools import cache
from pathlib import Path

import pytest
import soundfile
from tagged_files import (
    CHAPTERS,
    TAGS,
    chapters,
    cover,
    ffmpeg,
    needs_ffmpeg,
    probed,
    sound,
    tags,
    tags_of,
    with_chunks,
)

from qse.audio.wav import RIFF, W64, W64_RIFF

mutagen = pytest.importorskip("mutagen")
flac = pytest.importorskip("mutagen.flac")
id3 = pytest.importorskip("mutagen.id3")
mp4 = pytest.importorskip("mutagen.mp4")

pytestmark = needs_ffmpeg

USAGE = Path(__file__).parents[2] / "docs/usage.md"
HEAD = "| format | title, artist, ... | other tags | cover | chapters |"
KINDS = ("tags", "other", "cover", "chapters")
OTHER = "my_key"  # a tag that no format knows
INFO = b"INFOINAM\2\0\0\0x\0"
VIDEOS = ("mkv", "webm", "mp4", "m4v", "mov")
SUFFIXES = {"Ogg Vorbis": "ogg", "Ogg Opus": "opus", "NIST": "sph"}


def rows() -> dict[str, list[str]]:
    """Return {suffix: cells} of the table in the document."""
    lines = USAGE.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(HEAD))
    found = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        formats, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        for name in formats.split(", "):
            found[SUFFIXES.get(name, name.lower())] = cells[: len(KINDS)]
    return found


def cases() -> list[tuple[str, str, str, str]]:
    """Return suffix, kind, where the file comes from, and what shall become of its metadata."""
    found = []
    for suffix, cells in rows().items():
        for kind, cell in zip(KINDS, cells, strict=True):
            for origin, outcome in zip(("same", "other"), cell.split("; "), strict=True):
                if outcome != "-":
                    found.append((suffix, kind, origin, outcome))
    return found


def id3_tag() -> bytes:
    """Return an ID3 tag with every kind of metadata; its chapters are in the order of the length of
    their titles, as mutagen writes them."""
    tag = id3.ID3()
    tag.add(id3.TIT2(encoding=1, text=TAGS["title"]))
    tag.add(id3.TPE1(encoding=1, text=TAGS["artist"]))
    tag.add(id3.TXXX(encoding=1, desc=OTHER, text="free"))
    tag.add(id3.APIC(encoding=0, mime="image/png", type=3, data=Path("c.png").read_bytes()))
    for number, (start, title) in enumerate(((0, "a longer title; = #"), (500, "b"))):
        name = id3.TIT2(encoding=3, text=title)
        tag.add(id3.CHAP(f"c{number}", start, start + 500, sub_frames=[name]))
    file = io.BytesIO()
    tag.save(file, v2_version=3)
    return file.getvalue()


def to_long(path: Path, name: bytes, body: bytes) -> None:
    """Put a chunk before the samples of an RF64 or W64 file of ffmpeg."""
    data = bytearray(path.read_bytes())
    is_w64 = data[:16] == W64_RIFF
    at = data.index(b"data\xf3\xac\xd3\x11" if is_w64 else b"data")
    data[at:at] = (W64 if is_w64 else RIFF).write(name, body)
    if is_w64:
        data[16:24] = len(data).to_bytes(8, "little")
    else:
        data[20:28] = (len(data) - 8).to_bytes(8, "little")
    path.write_bytes(data)


def source_of(suffix: str, origin: str) -> str:
    """Return the suffix of the file from which one with `suffix` is made."""
    other = {"mp3": "m4a", "mkv": "mp4", "mov": "mp4"}
    other |= dict.fromkeys(("webm", "mp4", "m4v"), "mkv")
    return suffix if origin == "same" else other.get(suffix, "mp3")


def made(suffix: str, kind: str) -> Path:
    """Return a file with every kind of metadata that its format has; in MP4, ffmpeg writes other
    tags (kind "other") or a cover."""
    path = Path(f"{kind}.{suffix}")
    metadata = [*tags_of("-metadata"), "-metadata", f"{OTHER}=free"]
    if suffix == "mp3":
        ffmpeg("-i", "s.wav", path)
        id3.ID3(io.BytesIO(id3_tag())).save(path, v2_version=3)
    elif suffix in ("wav", "rf64", "w64"):
        form = ["-f", "w64"] if suffix == "w64" else ["-f", "wav"]
        long = ["-rf64", "always"] if suffix == "rf64" else []
        ffmpeg("-i", "s.wav", *metadata, *long, *form, path)
        if suffix == "wav":
            with_chunks(path, [(b"id3 ", id3_tag())])
        else:
            to_long(path, b"id3 ", id3_tag())
        if suffix == "w64":
            to_long(path, b"LIST", INFO)
    else:
        keys = ["-movflags", "use_metadata_tags"] if suffix == "mov" or kind == "other" else []
        ffmpeg(*_of_ffmpeg(suffix, metadata), *keys, path)
    if suffix in ("m4a", "m4b"):
        file = mp4.MP4(path)
        file[f"----:com.apple.iTunes:{OTHER}"] = [b"free"]
        file.save()
    if suffix in ("ogg", "opus"):
        file = mutagen.File(path)
        picture = flac.Picture()
        picture.data = Path("c.png").read_bytes()
        picture.mime = "image/png"
        file["metadata_block_picture"] = base64.b64encode(picture.write()).decode()
        for number, (start, title) in enumerate((("00.000", "One"), ("00.500", "Zwei")), start=1):
            file[f"CHAPTER{number:03d}"] = f"00:00:{start}"
            file[f"CHAPTER{number:03d}NAME"] = title
        file.save()
    return path


def _of_ffmpeg(suffix: str, metadata: list[str]) -> list:
    """Return the options with which ffmpeg makes a file with every kind of metadata."""
    inputs = ["-i", "s.wav", "-i", "chapters", "-i", "c.png"]
    options = ["-map", "0:a", *metadata, "-map_chapters", "1"]
    if suffix in VIDEOS:
        inputs += ["-f", "lavfi", "-i", "testsrc=duration=1:size=32x32:rate=5"]
        options = ["-map", "3:v", *options]
    if suffix in ("flac", "aiff", "m4a", "m4b", "mp4", "m4v"):
        number = 1 if suffix in VIDEOS else 0
        options += ["-map", "2:v", f"-c:v:{number}", "copy"]
        options += [f"-disposition:v:{number}", "attached_pic"]
    if suffix in ("mkv", "mka"):
        options += ["-attach", "c.png", "-metadata:s:t", "mimetype=image/png"]
    if suffix in ("mkv", "webm"):
        options += ["-c:v", "libvpx-vp9", "-deadline", "realtime"]
    if suffix in ("webm", "weba"):
        options += ["-c:a", "libopus", "-f", "webm"]
    special = {"aiff": ["-write_id3v2", 1], "m4a": ["-f", "ipod"], "m4b": ["-f", "ipod"]}
    return [*inputs, *options, *special.get(suffix, ())]


def as_wav(path: Path) -> Path:
    """Return a W64 file as WAV, with its chunks, for ffprobe, which reads no tags in W64."""
    data = path.read_bytes()
    assert data[:16] == W64_RIFF
    found = b""
    at = 40
    while at < len(data):
        size = int.from_bytes(data[at + 16 : at + 24], "little")
        body = data[at + 24 : at + size]
        name = b"LIST" if data[at : at + 4] == b"list" else data[at : at + 4]
        found += name + len(body).to_bytes(4, "little") + body + bytes(len(body) % 2)
        at += size + -size % 8
    result = path.with_name(f"{path.name}.wav")
    result.write_bytes(b"RIFF" + (len(found) + 4).to_bytes(4, "little") + b"WAVE" + found)
    return result


def facts(path: Path) -> dict[str, object]:
    """Return what ffprobe finds of each kind, and mutagen in the ID3 tag of a WAV file."""
    if path.suffix == ".w64":
        path = as_wav(path)
    found = tags(path)
    if path.suffix in (".wav", ".rf64"):
        found = {**found, **_of_id3_chunk(path)}
    return {
        "tags": {name: found[name] for name in TAGS if name in found},
        "other": found.get(OTHER),
        "cover": sum(stream["disposition"]["attached_pic"] for stream in probed(path)["streams"]),
        "chapters": sorted(chapters(path)),
    }


def _of_id3_chunk(path: Path) -> dict[str, str]:
    data = path.read_bytes()
    at = data.find(b"id3 ")
    frames = id3.ID3(io.BytesIO(data[at + 8 :])).getall(f"TXXX:{OTHER}") if at > 0 else []
    return {OTHER: frames[0].text[0]} if frames else {}


@pytest.fixture(scope="module")
def outcome(zoo, tmp_path_factory):
    """A function that enhances a file with every kind of metadata: what was there, what is there,
    what was named."""
    import qse
    from qse.runtime.batch import enhance_file
    from qse.runtime.batch_options import Options
    from qse.runtime.batch_plan import FileJob

    engine = qse.load(zoo / "live-base")
    folder = tmp_path_factory.mktemp("table")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        soundfile.write("s.wav", sound(1.0, 2, 48000), 48000)
        Path("chapters").write_text(CHAPTERS)
        cover(Path("c.png"))
        source = cache(made)

        @cache
        def outcome(suffix: str, origin: str, kind: str) -> tuple[dict, dict, list[str]]:
            before = source(source_of(suffix, origin), kind)
            after = Path(f"{origin}-{kind}.{suffix}")
            done = enhance_file(FileJob(before, after), lambda rate: engine, Options())
            return facts(before), facts(after), [name.lower() for name in done.lost]

        yield outcome


@pytest.mark.parametrize("suffix, kind, origin, expected", cases())
def test_cell(outcome, suffix, kind, origin, expected):
    is_other = kind == "other" and source_of(suffix, origin) in ("mp4", "m4v")
    before, after, lost = outcome(suffix, origin, "other" if is_other else "all")
    names = {"tags": list(before["tags"]), "other": [OTHER]}.get(kind, [kind])
    assert before[kind]
    if expected == "lost":
        assert not after[kind] and set(names) <= set(lost)
        return
    assert expected == ("kept" if origin == "same" else "mapped")
    assert not set(names) & set(lost)
    if kind != "chapters":
        assert after[kind] == before[kind]
        return
    assert [title for _, title in after[kind]] == [title for _, title in before[kind]]
    starts = [start for start, _ in before[kind]]
    assert [start for start, _ in after[kind]] == pytest.approx(starts, abs=0.02)

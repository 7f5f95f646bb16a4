"""Pack what a training on another machine needs beside the audio: code and first weights.

start.zip: wheels/*.whl, of qse without its trained models and its page, and of what training needs
beside PyTorch and NumPy; start/, the configuration and the checkpoint (or weights) of a model or a
run.
"""

import base64
import csv
import hashlib
import io
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ..audio.file_mode import Sources
from ..audio.folder_path import entered_folder, make_folder
from ..audio.private_folder import private_folder
from ..audio.writer import atomic_target
from ..errors import QseError
from ..model_folder import CHECKPOINT, CONFIG, weights_of
from ..runtime.onnx_session import is_installed
from ..runtime.zoo import available, find

NAME = "start.zip"
DEPENDENCIES = ("soundfile", "soxr", "safetensors", "tomli_w", "typer", "rich")
LEFT_OUT = (".onnx", ".safetensors")  # of the installed models
PAGE = "qse/web/"
CURVES = ("train.csv", "valid.csv", "parts.csv")
CHECKOUT = Path(__file__).resolve().parents[2]


@contextmanager
def written(
    path: Path, start: str | Path, python_version: str = "", overwrite: bool = False
) -> Iterator[None]:
    """Write a ZIP file, which appears as `path` at the end of the context.

    start: name of a model, or folder of a model or a run. python_version: of the other machine,
    such as "3.12", for wheels for Linux on x86-64; without it there are no wheels. Raises QseError
    where there are no weights, or wheels cannot be made.
    """
    with _start_files(start) as found:
        make_folder(path.parent)
        with _packed(path, found, python_version, overwrite):
            yield


@contextmanager
def _packed(
    path: Path, found: Mapping[str, Path], python_version: str, overwrite: bool
) -> Iterator[None]:
    with (
        atomic_target(path, overwrite, source=Sources(found.values())) as part,
        # the times of ZIP begin in 1980; files from before get the first one
        zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as file,
        private_folder() as folder,
    ):
        for name, source in found.items():
            file.write(source, f"start/{name}")
        if python_version:
            for wheel in _wheels(folder, python_version):
                file.write(wheel, f"wheels/{wheel.name}", zipfile.ZIP_STORED)
        file.close()
        yield


@contextmanager
def _start_files(start: str | Path) -> Iterator[dict[str, Path]]:
    """Yield the files that training begins with: of each name a path to the file that is open, also
    if others exchange it."""
    folder = find(start).parent if str(start) in available() else Path(start)
    weights = CHECKPOINT if (folder / CHECKPOINT).is_file() else weights_of(folder).name
    for name in (CONFIG, weights):
        if not (folder / name).is_file():
            raise QseError(f"{start}: has no {name}; name a model with its weights, or a run")
    curves = [name for name in CURVES if (folder / name).is_file()]
    found = {}
    with ExitStack() as stack:
        held = stack.enter_context(entered_folder(folder))
        for name in (CONFIG, weights, *curves):
            state = held.state(name)
            if state and stat.S_ISLNK(state.st_mode):  # it may have come in an archive
                cure = "to a file that is not packed; put a copy there"
                raise QseError(f"{folder / name}: is a link, {cure}")
            try:
                descriptor = held.open(name, os.O_RDONLY)
            except OSError as error:
                raise QseError(f"{folder / name} cannot be read: {error.strerror}") from error
            stack.callback(os.close, descriptor)
            if os.fstat(descriptor).st_nlink > 1 and not is_installed(folder / name):
                raise QseError(f"{folder / name}: is another file as well; put a copy there")
            found[name] = held.path_to(name, descriptor)
        yield found


def _wheels(folder: Path, python_version: str) -> list[Path]:
    """Make the wheel of this checkout, and download those of its dependencies."""
    if not (CHECKOUT / "pyproject.toml").is_file():
        cure = "install it with pip install -e ., or pack without wheels"
        raise QseError(
            f"{CHECKOUT}: qse runs from no checkout, of which a wheel could be made; {cure}"
        )
    plan = folder / "build.cfg"  # in the checkout, files of former builds would get into the wheel
    plan.write_text(f"[build]\nbuild_base = {folder / 'build'}\n")
    own = folder / "own"
    _pip("wheel", "--no-deps", "--wheel-dir", str(own), str(CHECKOUT), DIST_EXTRA_CONFIG=str(plan))
    target = folder / "wheels"
    binary = ["--only-binary", ":all:", "--python-version", python_version]
    platforms = []
    for name in ("manylinux2014_x86_64", "manylinux_2_28_x86_64"):
        platforms += ["--platform", name]
    _pip("download", "--dest", str(target), *binary, *platforms, *DEPENDENCIES)
    for numpy in target.glob("numpy-*.whl"):  # the other machine's NumPy fits its PyTorch
        numpy.unlink()
    for wheel in own.glob("*.whl"):
        without_models(wheel, target / wheel.name)
    return sorted(target.glob("*.whl"))


def _pip(*words: str, **environment: str) -> None:
    line = [sys.executable, "-P", "-m", "pip", words[0], "-q", *words[1:]]
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        cure = "see pip's message, or pack without wheels"
        raise QseError(f"pip {words[0]} failed ({last}); {cure}")


def without_models(wheel: Path, target: Path) -> None:
    """Copy a wheel of qse without graphs, weights and the page, none of which training needs."""
    with (
        zipfile.ZipFile(wheel) as source,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file,
    ):
        record = ""
        rows = []
        for name in source.namelist():
            if name.endswith(".dist-info/RECORD"):
                record = name
            elif name.endswith(".py") or not (name.endswith(LEFT_OUT) or name.startswith(PAGE)):
                data = source.read(name)
                file.writestr(name, data)
                rows.append([name, f"sha256={_digest(data)}", len(data)])
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*rows, [record, "", ""]])
        file.writestr(record, text.getvalue())


def _digest(data: bytes) -> str:
    """Return a checksum as the RECORD of a wheel has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()

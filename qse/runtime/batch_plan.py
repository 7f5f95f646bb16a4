"""Decide which files to enhance and where their results go."""

import os
from collections import Counter
from dataclasses import dataclass
from os.path import abspath
from pathlib import Path

from ..audio.folder_path import link_below
from ..audio.formats import format_of, suffix_of
from ..audio.input_path import Identity
from ..audio.suffixes import FOREIGN, MEDIA
from ..errors import QseError, UsageError
from .found_inputs import Input, file_name, matches, real_name

SUFFIX = "-enhanced"


@dataclass(frozen=True)
class FileJob:
    """One file to enhance; `name` is what messages call it, its path if None; `inside`: the folder
    in which it must lie when it is opened; `is_new`: the target was not there when the run began,
    and is not replaced if it is then; `is_named`: a person named the target itself."""

    source: Path
    target: Path
    name: str | None = None
    inside: Identity | None = None
    is_new: bool = False
    is_named: bool = False

    def __str__(self) -> str:
        return self.name or str(self.source)


def plan(inputs: list[str], output: str | None = None) -> tuple[list[FileJob], list[QseError]]:
    """Return jobs for `inputs` (files, folders with all below them, glob patterns), and the errors
    of the others.

    Without `output`, the target of a file is `<stem>-enhanced<suffix>` beside it. With one input
    file, `output` may name a file; otherwise it is a folder, in which the tree below an input
    folder is repeated. A sound file that only ffmpeg reads becomes a .wav file where ffmpeg does
    not write its format, a video stays one.

    Results of an earlier run among the inputs are skipped, and so is everything in an output folder
    below an input folder, unless it is named itself. Raises UsageError if `output` is a file and
    there are several inputs, or if an input or `output` is empty, as an unset variable of a shell
    is: it would mean the current folder. Two files that differ in their suffix alone, and would
    become one .wav file, both keep theirs: memo.amr becomes memo.amr.wav.
    """
    if "" in (*inputs, output):
        raise UsageError(
            "an input or output without a name: is a variable empty? For this folder write ."
        )
    found, errors = _collect(inputs)
    if not found:
        return [], errors
    single = len(inputs) == len(found) == 1 and not Path(inputs[0]).is_dir()
    folder = _output_folder(output, single) if output else None
    earlier = _earlier_results(found, folder, inputs)
    file = Path(output) if output and not folder else None
    targets: dict[Path, Path] = {}
    limits = {entry.path: entry.inside for entry in found.values()}
    for entry in found.values():
        if abspath(entry.path) not in earlier:
            targets[entry.path] = _target(entry, output, folder)
    names = {source: real_name(target) for source, target in targets.items()}
    taken = Counter(names.values())
    sources = {file_name(source): source for source in targets}
    jobs: dict[str, FileJob] = {}
    for source, target in targets.items():
        if taken[names[source]] > 1:
            target = _with_both_suffixes(target, source)
        job = FileJob(
            source,
            target,
            inside=limits[source],
            is_new=not target.exists(),
            is_named=target == file,
        )
        written = file_name(target)
        clash = ""
        if sources.get(written, source) != source:
            clash = f"{source} would be written to {target}, which is an input, too"
        elif folder and (link := link_below(folder, target)):
            clash = f"{source} would be written through the link {link}"
        elif (first := jobs.setdefault(written, job)).source != source:
            clash = f"{source} would be written to {target}, as {first} is"
        if clash:
            errors.append(QseError(f"{clash}: enhance it in a run of its own"))
    if not jobs and not errors:
        named = ", ".join(inputs)
        reason = "nothing to do, all files there are results of an earlier run"
        errors.append(QseError(f"{named}: {reason}"))
    return list(jobs.values()), errors


def with_existing_output(jobs: list[FileJob], skip: bool) -> list[FileJob]:
    """Return the jobs not to run, because their output exists.

    Without `skip`, a single one is not among them: it fails with an error of its own.
    """
    existing = [job for job in jobs if job.target.is_file()]
    return existing if skip or len(existing) > 1 else []


def _collect(inputs: list[str]) -> tuple[dict[str, Input], list[QseError]]:
    """Return the files that `inputs` mean by their real paths, each once, and errors for the inputs
    that mean none."""
    found: dict[str, Input] = {}
    errors: list[QseError] = []
    for text in inputs:
        try:
            for entry in matches(text, errors.append):
                real = real_name(entry.path)
                # a file goes before a link to it
                if real not in found or found[real].path.is_symlink():
                    found[real] = entry
        except QseError as error:
            errors.append(error)
        except OSError as error:
            # the working directory is gone
            if isinstance(error, FileNotFoundError) and not error.filename:
                raise
            errors.append(QseError(f"{text} cannot be read: {error.strerror}"))
    return found, errors


def _output_folder(output: str, single: bool) -> Path | None:
    """Return the folder that `output` means, None if it means a file."""
    path = Path(output)
    is_folder = path.is_dir() or output.endswith(("/", os.sep)) or not path.suffix
    if (
        not is_folder
        and not single
        and (path.exists() or format_of(path) or suffix_of(path) in MEDIA)
    ):
        raise UsageError(f"{output}: several inputs need a folder to go to, not one file")
    return None if single and not is_folder else path


def _earlier_results(found: dict[str, Input], folder: Path | None, inputs: list[str]) -> set[str]:
    """Return the absolute paths of those inputs that an earlier run has written."""
    earlier = set()
    for entry in found.values():
        enhanced = _enhanced(entry.path)
        earlier.add(abspath(enhanced))
        earlier.add(abspath(_with_both_suffixes(enhanced, entry.path)))
    if folder is None:
        return earlier

    place = Path(real_name(folder))
    roots = {Path(real_name(entry.root)) for entry in found.values()}
    if not roots.isdisjoint(place.parents):
        for real, entry in found.items():
            if place in Path(real).parents:
                earlier.add(abspath(entry.path))
    return earlier.difference(map(abspath, inputs))  # a result that is named itself is an input


def _target(entry: Input, output: str | None, folder: Path | None) -> Path:
    if folder:
        return _readable(folder / entry.path.relative_to(entry.root))
    return Path(output) if output else _enhanced(entry.path)


def _enhanced(path: Path) -> Path:
    return _readable(path.with_stem(path.stem + SUFFIX))


def _with_both_suffixes(target: Path, source: Path) -> Path:
    """Return `target` with the suffix of `source` before its own, where these differ."""
    if target.suffix == source.suffix:
        return target
    return target.with_name(f"{target.stem}{source.suffix}{target.suffix}")


def _readable(target: Path) -> Path:
    """Return `target`, with the suffix .wav in place of one for sound that can be read and not
    written."""
    suffix = suffix_of(target)
    return target.with_suffix(".wav") if suffix in FOREIGN and suffix not in MEDIA else target

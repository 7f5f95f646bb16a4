"""Record both sides, noisy and enhanced, without blocking the live path.

The live path puts blocks into a ring buffer; a thread writes them to disk. Blocks for which the
disk is too slow are left out and counted, unless the source is not paced. A full disk ends the
recording, keeps what is there, and is reported.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import TYPE_CHECKING

import numpy as np

from ..audio.atomic_write import atomic_path
from ..audio.channel_order import check_subwoofer, stored
from ..audio.claim import held
from ..audio.file_mode import OWNER_ALONE
from ..audio.folder_path import held_folder
from ..audio.formats import Layout, format_of, native, subtype_of
from ..audio.input_path import held_input
from ..audio.writer import check_target, check_written, update_header
from ..errors import QseError
from .ring_buffer import RingBuffer

if TYPE_CHECKING:
    from soundfile import SoundFile

CAPACITY = 10  # seconds that may wait for the disk
EVERY = 0.1  # seconds between two writes
ROOM = 4096  # bytes that the disk must take before a file is replaced


class Recorder:
    """Write sound to a file in a thread.

    `lost`: samples per channel that the disk was too slow for; `error`: why writing ended early,
    None while all is well; `created`: whether sound came, and with it the file.
    """

    def __init__(
        self,
        path: Path,
        sample_rate: int,
        channels: int,
        overwrite: bool = False,
        paced: bool = True,
    ):
        """`paced`: the sound cannot wait for the disk.

        The path is claimed until `close`; the file is created with the first block, so a session
        that does not start leaves nothing behind. Raises QseError if `path` exists and `overwrite`
        is false, if its folder does not exist, if it cannot be written or hold so many channels, or
        if another process writes it.
        """
        self.path = path
        self.lost = 0
        self.error: str | None = None
        self.created = False
        self._paced = paced
        self._overwrite = overwrite
        with _claimed(path) as claim:
            form = _check_place(path, overwrite)
            self._layout = Layout(sample_rate, channels, form, subtype_of(path), "FILE", {})
            check_subwoofer(path, self._layout, None)
            self._try()
            self._claim = claim.pop_all()
        self._ring = RingBuffer(CAPACITY * sample_rate, channels)
        self._closing = Event()
        self._thread = Thread(target=self._work, name="qse recorder", daemon=True)
        self._thread.start()

    def put(self, block: np.ndarray) -> None:
        """Add (samples, channels); return at once if the sound is `paced`, else when there is
        space."""
        while not (self._paced or self.error or self._closing.is_set()) and self._ring.free < len(
            block
        ):
            sleep(EVERY)
        if self.error is None:
            self.lost += len(block) - self._ring.write(block)

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._closing.set()
        self._thread.join()
        self._claim.close()

    def _work(self) -> None:
        import soundfile

        file = None
        written = 0
        block = np.zeros((self._ring.free, self._ring.channels), np.float32)
        try:
            while not self._closing.wait(EVERY) or self._ring.waiting:
                if count := self._ring.read(block):
                    file = file or self._create()
                    self.created = True
                    if (written := written + count) > self._layout.longest:
                        raise QseError(f"a {self._layout.format} file cannot be longer")
                    part = stored(block[:count], self._layout.format)
                    file.write(part)  # integer formats limit it to full scale
        except (soundfile.SoundFileError, AssertionError):
            state = "is not written any further" if file else "could not be created"
            kept = " What was written so far is kept" if file else ""
            self.error = f"{self.path} {state}: is the disk full?{kept}"
        except OSError as error:
            self.error = f"{self.path} cannot be written: {error.strerror}; name another recording"
        except Exception as error:  # whatever it is, the session continues without a recording
            self.error = (
                f"{self.path} is not written any further ({error}); what was written so far is kept"
            )
        try:
            if file:
                file.close()
                self._check(written)
        except soundfile.SoundFileError:
            self.error = self.error or f"{self.path} could not be closed: its end may be missing"

    def _check(self, written: int) -> None:
        """Say so where the file lacks what was written last: encoders report no failure then."""
        try:
            if not self.error and self.path.exists():  # nobody has moved it
                with held_input(self.path, str(self.path)) as path:
                    check_written(path, written)
        except QseError as error:  # others may exchange it
            self.error = f"the end of the recording cannot be checked: {error}"
        except OSError:
            kept = "What was written so far is kept"
            self.error = f"{self.path} ends early: is the disk full? {kept}"

    def _create(self) -> "SoundFile":
        """Create the file, which only this user can read: it holds a microphone.

        It takes the place of one that may be overwritten when it has begun: who has that one open,
        or owns it, does not get the sound, and a full disk leaves it.
        """
        if os.name != "nt":  # where an open file cannot be renamed
            with atomic_path(self.path, self._overwrite, source=OWNER_ALONE, is_named=True) as part:
                part.write_bytes(bytes(ROOM))
                return self._open(native(part))
        with held_folder(self.path) as (folder, name):
            if self._overwrite:
                folder.check_file(name)
                folder.remove(name)
            descriptor = folder.create(name)
            try:
                return self._open(native(folder.path_to(name, descriptor)))
            finally:
                os.close(descriptor)

    def _open(self, to: str | bytes | BytesIO) -> "SoundFile":
        import soundfile

        form = {"format": self._layout.format, "subtype": self._layout.subtype}
        file = soundfile.SoundFile(to, "w", self._layout.sample_rate, self._layout.channels, **form)
        update_header(file)
        return file

    def _try(self) -> None:
        import soundfile

        try:
            self._open(BytesIO()).close()
        except soundfile.SoundFileError as error:
            what = f"{self._layout.channels} channels (both sides) at {self._layout.sample_rate} Hz"
            raise QseError(
                f"{self.path}: this format cannot hold {what}; record to a .wav file"
            ) from error


def _claimed(path: Path) -> ExitStack:
    """Return the claim to the file that `path` points to. Raises QseError if another process holds
    it."""
    taken = QseError(f"{path} is being written by another process: name another recording")
    with suppress(OSError):  # where nothing can be written: the file itself is refused
        return held(path, taken)
    return ExitStack()


@contextmanager
def _said(path: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise QseError(
            f"{path} cannot be written: {error.strerror}; name another recording"
        ) from error


def _check_place(path: Path, overwrite: bool) -> str:
    """Return the format for the path's suffix. Raises QseError if the file cannot or may not be
    written."""
    form = format_of(path)
    if form is None:
        raise QseError(
            f"{path}: no audio format has this suffix; name a recording that ends in .wav or .flac"
        )
    with suppress(FileNotFoundError, NotADirectoryError), _said(path), held_folder(path):
        pass  # no link on the way is one of another user
    check_target(path, overwrite)
    path = Path(os.path.realpath(path))  # the file that a link points to
    if not path.parent.exists():
        cure = "make it first, or name another recording"
        raise QseError(f"{path}: the folder {path.parent} does not exist; {cure}")
    try:
        places = [path.parent, path] if path.exists() else [path.parent]
        if not path.parent.is_dir() or not all(os.access(place, os.W_OK) for place in places):
            raise OSError
    except OSError as error:
        raise QseError(f"{path} cannot be written: name another place for the recording") from error
    return form

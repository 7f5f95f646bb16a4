"""Mix batches from the parts of a bundle, and from more parts as they are taken in.

The corpora are extended, not rebuilt: samples on the disk stay where they are mapped, and only
those of new parts are copied to a GPU. A corpus depends on which parts it holds, not on the order
in which they came.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from .corpus import Corpus
from .decoded_parts import Decoded, DecodedParts, Stream
from .mapped_samples import mapped
from .part_intake import Say
from .part_schedule import PartSchedule, TakenIn
from .source import Batch, BatchSource

Make = Callable[[dict[Stream, Corpus]], BatchSource]  # makes a source that mixes corpora
Arrivals = Callable[[], list[str]]  # returns what is to be told of parts that arrive


class BundleSource:
    """Draw batches from the parts that a schedule names for their step.

    arrivals: of the process that takes in parts, in the process of a run that leads: it adds the
    parts that it finds in the store to the schedule, `margin` steps ahead, which is more than
    another process of the run may be ahead of it. say: told what was taken in or refused. segments:
    of an epoch, those of the first parts.
    """

    def __init__(
        self,
        store: DecodedParts,
        schedule: PartSchedule,
        make: Make,
        device: torch.device,
        say: Say = print,
        arrivals: Arrivals | None = None,
        margin: int = 0,
    ):
        self.store = store
        self.schedule = schedule
        self.make = make
        self.say = say
        self.arrivals = arrivals
        self.margin = margin
        self._samples = _Samples(store, device)
        self._seen = -1
        self._identities: list[str] = []
        self._source: BatchSource | None = None
        self.segments = self._at(schedule.rows()[0].step).segments

    def batch(self, step: int, size: int, rank: int = 0) -> Batch:
        """Return batch `step` in process `rank`, on the device."""
        if self.arrivals and step != self._seen:  # no share of this step has been drawn yet
            for line in self.arrivals():
                self.say(line)
            self._take_in(step)
        self._seen = step
        return self._at(step).batch(step, size, rank)

    def _take_in(self, step: int) -> None:
        """Use the parts that are new in the store from a step on."""
        rows = take_in(self.store, self.schedule, step + self.margin)
        for row in rows:
            hours = f"{row.speech_hours:.2f} h of speech, {row.noise_hours:.2f} h of noise"
            self.say(f"{row.name} taken in: {hours}, from step {row.step} on")

    def _at(self, step: int) -> BatchSource:
        """Return the source that mixes the batches of a step."""
        found = self.store.found()
        identities = [identity for identity in self.schedule.at(step) if identity in found]
        identities = identities or list(found)  # the run's own parts are not there
        if self._source is None or identities != self._identities:
            parts = [found[identity] for identity in identities]
            corpora = {}
            for stream in self.store.streams:
                corpora[stream] = self._samples.corpus(stream, parts)
            self._source = self.make(corpora)
            self._identities = identities
        return self._source


def take_in(store: DecodedParts, schedule: PartSchedule, step: int) -> list[TakenIn]:
    """Add the parts of a store that a schedule lacks, from a step on; return their rows."""
    known = {row.identity for row in schedule.rows()}
    rows = []
    for part in sorted(store.found().values(), key=_place):
        if part.identity not in known:
            hours = (round(part.hours("speech"), 3), round(part.hours("noise"), 3))
            rows.append(TakenIn(step, part.identity, part.name, *hours))
    if rows:
        schedule.add(rows)
    return rows


class _Samples:
    """The samples of a store on a device: mapped on a CPU, copied to a GPU."""

    def __init__(self, store: DecodedParts, device: torch.device):
        self.store = store
        self.device = device
        self._copied: dict[Stream, Tensor] = {}

    def corpus(self, stream: Stream, parts: list[Decoded]) -> Corpus:
        """Return the recordings of some parts, sorted by group."""
        rows = []
        for part in sorted(parts, key=_place):
            extent = part.extents[stream]
            start = extent.start
            for group, length in zip(extent.groups, extent.lengths, strict=True):
                rows.append((group, start, length))
                start += length
        rows.sort(key=lambda row: row[0])  # stable: of a group in the order of its parts
        groups, starts, lengths = map(list, zip(*rows, strict=True))
        end = max(part.extents[stream].end for part in parts)
        audio = self._until(stream, end)
        return Corpus.from_samples(audio, lengths, groups, stream[1], starts)

    def _until(self, stream: Stream, end: int) -> Tensor:
        """Return the first `end` samples of a stream at least."""
        samples = mapped(self.store.samples(stream))
        if self.device.type == "cpu":
            return samples
        copied = self._copied.get(stream, torch.empty(0, dtype=samples.dtype, device=self.device))
        if len(copied) < end:
            copied = torch.cat([copied, samples[len(copied) : end].to(self.device)])
            self._copied[stream] = copied
        return copied


def _place(part: Decoded) -> tuple[int, str]:
    return part.part, part.identity

"""Find the directions that tell talkers apart in the states of a network with `model.talker`.

    python tools/fit_talkers.py RUN --speech SPEECH --noise NOISE --out START

RUN is the folder of a run, or of a model with its weights; its config.toml says how enrolments are
drawn (`mix.enrolment`). START gets the same network with a fitted code, from which training begins:
`qse train --from START`. Entries of talkers keep what they were, as far as the new code tells it.

By linear discriminant analysis: of several enrolments of each speaker who can be told (four
recordings at least, in a sub-folder that does not begin with `various`), the directions that vary
most between speakers and least within them. Printed is the equal error rate of comparing two
enrolments by their codes, for a sixth of the speakers who are left out, before and after.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

from qse.audio.atomic_write import write_text
from qse.audio.file_mode import Sources
from qse.audio.folder_path import open_source
from qse.audio.replaced_folder import new_folder
from qse.data.corpus import Corpus
from qse.data.enrolments import Enrolments, Told
from qse.data.multi_rate import WIDE_BAND
from qse.data.room_simulation import rooms_of
from qse.data.sampling import BatchRng, CorpusSampler
from qse.model_folder import CHECKPOINT, CONFIG, weights_of
from qse.networks.enrolment import mean_states
from qse.networks.streaming import StreamingEnhancer
from qse.networks.weights import load_network
from qse.nn.talker import NUMBERS, TalkerCode
from qse.train.checkpoint import save
from qse.train.recipe import read_config

BATCH = 8
PRINCIPAL = 200  # components of the states that are kept
FLOOR = 0.1  # of the mean variance within speakers, added to each


class States(NamedTuple):
    """Mean states of E enrolments, (E, inputs), and their speakers (E,)."""

    states: Tensor
    speakers: Tensor

    def of(self, speakers: Tensor) -> "States":
        chosen = torch.isin(self.speakers, speakers)
        return States(self.states[chosen], self.speakers[chosen])


class Voices:
    """Draw enrolments of the speakers of a corpus, as a training does, and the states of a network
    over them."""

    def __init__(
        self, network: StreamingEnhancer, speech_folder: Path, noise_folder: Path, run: Path
    ) -> None:
        mix = replace(read_config(run / CONFIG).mix, sample_rate=WIDE_BAND)  # as enrolments are
        speech = Corpus.read(speech_folder, WIDE_BAND)
        noise = Corpus.read(noise_folder, WIDE_BAND)
        self.network = network.at(WIDE_BAND)
        self.speakers = CorpusSampler(speech, mix.speech_balance)
        self.noise = CorpusSampler(noise, mix.noise_balance)
        self.enrolments = Enrolments(mix, self.speakers, rooms_of(mix, 0))
        self.rng = BatchRng(0, 0, 0, torch.device("cpu"))
        self.samples = mix.enrolment_samples

    def states(self, count: int) -> States:
        """Return the mean states of `count` enrolments of each speaker who can be told."""
        known = torch.nonzero(self.enrolments.known).flatten()
        states: list[Tensor] = []
        for done in range(count):
            states += map(self._states, known.split(BATCH))
            print(f"{done + 1} of {count} enrolments of {len(known)} speakers", flush=True)
        return States(torch.cat(states), known.repeat(count))

    def _states(self, speakers: Tensor) -> Tensor:
        everybody = torch.ones(len(speakers), dtype=torch.bool)
        noises = self.noise.groups(self.rng, len(speakers))
        noise = self.noise.spoken(self.rng, noises, self.samples)
        told = Told(everybody, ~everybody)
        audio = self.enrolments.speech(self.rng, speakers, told, noise)
        return self.network.talker.joined(mean_states(self.network, audio)[0]).double()


def directions(given: States) -> tuple[Tensor, Tensor]:
    """Return (W (NUMBERS, inputs), the mean over talkers (inputs,)) of linear discriminant
    analysis: what W makes of deviations from the mean varies by 1 within speakers."""
    mean = given.states.mean(0)
    _, sizes, components = torch.linalg.svd(given.states - mean, full_matrices=False)
    kept = min(PRINCIPAL, len(given.states) - 1)
    whitening = (components / sizes[:, None])[:kept].T * len(given.states) ** 0.5
    white = (given.states - mean) @ whitening
    _, index = given.speakers.unique(return_inverse=True)
    counts = torch.bincount(index).double()
    centres = torch.zeros(len(counts), white.shape[1], dtype=white.dtype)
    centres = centres.index_add_(0, index, white) / counts[:, None]
    rest = white - centres[index]
    within = rest.T @ rest / (len(rest) - len(counts))
    between = centres.T @ centres / len(counts)
    within += FLOOR * within.diagonal().mean() * torch.eye(len(within), dtype=within.dtype)
    unit = torch.linalg.inv(torch.linalg.cholesky(within))
    _, vectors = torch.linalg.eigh(unit @ between @ unit.T)
    return (whitening @ unit.T @ vectors[:, -NUMBERS:]).T, mean


def equal_error(states: Tensor, speakers: Tensor) -> float:
    """Return the rate at which as many pairs of one speaker are taken for two as the reverse, by
    the cosine of their states (E, inputs)."""
    unit = normalize(states, dim=1)
    likeness = (unit @ unit.T).flatten()
    same = speakers[:, None] == speakers
    counts = (same & ~torch.eye(len(speakers), dtype=torch.bool)).flatten()
    order = likeness.argsort()
    missed = counts[order].cumsum(0) / counts.sum()
    others = ~same.flatten()[order]
    taken = 1 - others.cumsum(0) / others.sum()
    return float(torch.maximum(missed, taken).min())


@torch.no_grad()
def fit_(code: TalkerCode, given: States) -> None:
    """Fit the code, and let the entries be the best linear guesses of what they were."""
    everybody = torch.ones(len(given.states))
    states = given.states.float()
    before = code.of(states, everybody)
    weights, mean = directions(given)
    code.fit_(weights.float(), mean.float(), len(given.speakers.unique()))
    codes = code.codes(states, everybody)
    for name, layer in code.entries.items():
        entries = torch.linalg.lstsq(codes, before[name].flatten(1)).solution
        layer.get_parameter("weight").copy_(entries.T)


def main() -> None:
    """Read the command line, fit, and write the network."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--speech", type=Path, required=True)
    parser.add_argument("--noise", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="new folder for the network")
    parser.add_argument("--count", type=int, default=6, help="enrolments of each speaker")
    given = parser.parse_args()
    if given.out.exists():
        parser.error(f"{given.out} exists: name a new folder")

    with Sources([given.run]) as source:
        network, header = load_network(given.run / CONFIG, weights_of(given.run))
        with open(given.run / CONFIG, encoding="utf-8", opener=open_source) as file:
            config = file.read()
    if not isinstance(network, StreamingEnhancer) or not network.config.talker:
        parser.error(f"{given.run / CONFIG}: its network adapts to no talker; set model.talker")
    states = Voices(network, given.speech, given.noise, given.run).states(given.count)
    speakers = states.speakers.unique()
    sixth = torch.arange(len(speakers)) % 6 == 0
    held = states.of(speakers[sixth])
    weights, mean = directions(states.of(speakers[~sixth]))
    before = equal_error(held.states - mean, held.speakers)
    after = equal_error((held.states - mean) @ weights.T, held.speakers)
    print(f"equal error rate of speakers left out: {before:.1%} by states, {after:.1%} by codes")
    fit_(network.talker, states)
    with new_folder(given.out) as made:
        write_text(made / CONFIG, config, source=source)
        save(made / CHECKPOINT, network.state_dict(), header, source)


if __name__ == "__main__":
    main()

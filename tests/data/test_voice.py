"""Sustained vowels, whispers and shifted formants, measured by other means."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from made_audio import RATE, N, band_power, pulses, tone, white

from qse.data.filters import equalise
from qse.data.levels import active_level
from qse.data.voice import _istft, most_periodic, shift_formants, sustain, whisper


def likeness(audio: np.ndarray, place: int, longest: int) -> tuple[int, float]:
    """The period behind a place and how alike its sound is then, by a correlation for each lag."""
    sound = audio[place : place + 4 * longest]
    compared = 3 * longest
    here = sound[:compared]
    # the first is too short, and only what the others are compared with
    lags = range(longest // 8 - 1, longest + 1)
    moved = np.stack([sound[lag : lag + compared] for lag in lags])
    power = np.maximum((moved**2).sum(1), 1e-3 * (here @ here))
    alike = moved @ here / np.sqrt(here @ here * power)
    best = int(np.argmax(alike))
    return lags[best], float(alike[best]) if best else 0.0


def test_most_periodic_agrees_with_numpy():
    longest = 266
    rng = np.random.default_rng(0)
    audio = np.stack([white(1, seed=row)[0].double().numpy() for row in range(7)])
    audio[0, RATE:] = pulses(110)[RATE:]
    audio[1, :RATE] = pulses(347.3)[:RATE]
    # the most alike of all, but far below the rest
    audio[2, 9000:16000] = 0.01 * pulses(200)[9000:16000]
    audio[2, 20000:24000] += pulses(173)[20000:24000]
    audio[3, :] = pulses(140) + 0.02 * audio[3]
    audio[3, 9000:] = 0  # digital silence makes nothing more alike than alike
    audio[4] = np.convolve(audio[4], np.ones(400) / 20, "same")  # rumble: likeness that only falls
    # with the shortest period that is looked for, 33 samples
    audio[6] = pulses(485) + 0.02 * audio[6]
    places = np.stack([rng.permutation(N - 4 * longest)[:20] for _ in range(7)])
    places[3, :4] = 8100, 8200, 8300, 8400
    start, period, alike = most_periodic(torch.tensor(audio), torch.tensor(places), longest)
    for row in range(7):
        active = float(active_level(torch.tensor(audio[row : row + 1]))) ** 2
        loud = [
            p for p in places[row] if np.mean(audio[row, p : p + 3 * longest] ** 2) > 0.1 * active
        ]
        found = {p: likeness(audio[row], p, longest) for p in loud}
        best = max(found, key=lambda place: found[place][1])
        assert alike[row] == pytest.approx(found[best][1], abs=1e-6)
        if found[best][1]:
            assert (start[row], period[row]) == (best, found[best][0])
    assert start[0] >= RATE - 4 * longest and start[1] < RATE and 20000 - longest < start[2] < 24000
    assert (alike[[0, 1, 3, 6]] > 0.97).all() and (alike <= 1.001).all()
    assert period[6] == 33
    assert alike[4] < 0.9 and alike[5] < 0.4
    _, _, nothing = most_periodic(torch.zeros(1, N), torch.tensor(places[:1]), longest)
    assert nothing.item() == 0


def test_sustain_repeats_and_delays():
    period = 40
    loop = 160
    start = 1003
    rounds = 50
    audio = torch.zeros(1, N)
    audio[:, :4000] = tone(RATE / period)[:, :4000]
    audio[:, 4000:5000] = 0.3
    numbers = (torch.tensor([number]) for number in (start, period, loop, rounds))
    held = sustain(audio, *numbers)
    later = 4000 + rounds * loop
    torch.testing.assert_close(held[:, :later], tone(RATE / period)[:, :later], atol=1e-4, rtol=0)
    assert torch.equal(held[:, later:], audio[:, 4000 : N - rounds * loop])
    same = sustain(audio, *(torch.tensor([number]) for number in (start, period, loop, 0)))
    assert torch.equal(same, audio)


def test_sustain_makes_no_clicks():
    """Of a glide from 180 Hz down to 150 a loop ends elsewhere in the period than it began."""
    time = torch.arange(N) / RATE
    glide = 0.5 * torch.sin(2 * math.pi * (180 * time - 7.5 * time.square()))[None]
    steepest = glide.diff().abs().max()
    numbers = (torch.tensor([number]) for number in (9000, 92, 92 * 8, 20))
    held = sustain(glide, *numbers)
    assert held.diff().abs().max() < 1.6 * steepest
    assert held.abs().max() <= glide.abs().max()
    rows = sustain(
        glide.repeat(2, 1), *(torch.tensor(n) for n in ([9000] * 2, [92] * 2, [736] * 2, [20, 0]))
    )
    assert torch.equal(rows, torch.cat([held, glide]))


def test_whisper_keeps_formants_without_pitch():
    buzz = torch.zeros(1, N)
    buzz[:, :: RATE // 160] = 1.0
    voice = equalise(buzz, torch.tensor([[0.0, 0.0, 20.0, -10.0, 10.0, -20.0]]))  # two formants
    voice[:, N // 2 :] *= 0.1
    whispered = whisper(voice, white(1))
    torch.testing.assert_close(active_level(whispered), active_level(voice))
    places = torch.arange(0, N - 1100, 1500)[None]
    assert (
        most_periodic(voice, places, 266)[2] > 0.95
        and most_periodic(whispered, places, 266)[2] < 0.6
    )
    bands = [(low, low + 500) for low in range(1000, 7500, 500)]
    before = np.array([band_power(voice[0], *band) for band in bands])
    after = np.array([band_power(whispered[0], *band) for band in bands])
    assert np.abs(after - before - (after - before).mean()).max() < 4
    loud = whispered[0, : N // 2].square().mean()
    soft = whispered[0, N // 2 + 512 :].square().mean()
    assert 10 * math.log10(loud / soft) == pytest.approx(20, abs=1)
    assert not whisper(torch.zeros(1, N), white(1)).any()


def test_whisper_is_weak_at_low_frequencies():
    flat = whisper(white(1, seed=1), white(1, seed=2))[0]
    tilt = band_power(flat, 4000, 7000) - band_power(flat, 125, 250)
    assert tilt == pytest.approx(20 * math.log10((5500 / 6000) / (187 / 687)), abs=1.5)


@pytest.mark.parametrize("factor", [0.85, 1.2])
def test_shift_formants_moves_resonances_at_the_same_pitch(factor):
    """A buzz at 125 Hz through a resonance at 2 kHz."""
    time = np.arange(N) / RATE
    harmonics = np.arange(1, 60) * 125
    gain = 1 / (1 + ((harmonics - 2000) / 250) ** 2)
    voice = (
        torch.tensor(gain @ np.cos(2 * np.pi * harmonics[:, None] * time), dtype=torch.float32)[
            None
        ]
        * 0.05
    )
    shifted = shift_formants(voice, torch.tensor([factor]))
    torch.testing.assert_close(active_level(shifted), active_level(voice))
    assert shifted.shape == voice.shape
    spectrum = np.abs(np.fft.rfft(shifted[0].double()))
    at_harmonics = spectrum[2 * harmonics.astype(int)]  # bins of 0.5 Hz
    assert at_harmonics @ harmonics / at_harmonics.sum() == pytest.approx(2000 * factor, rel=0.06)
    between = spectrum[2 * harmonics.astype(int) + 125]
    assert between.max() < 0.02 * at_harmonics.max()  # the pitch is as it was


def test_shift_formants_by_one_changes_nothing():
    audio = white(2)
    shifted = shift_formants(audio, torch.ones(2))
    torch.testing.assert_close(shifted, audio, atol=1e-4, rtol=1e-3)
    assert not shift_formants(torch.zeros(1, N), torch.tensor([1.2])).any()


def test_shift_formants_treats_rows_separately():
    audio = white(2)
    both = shift_formants(audio, torch.tensor([0.9, 1.2]))
    alone = torch.cat(
        [
            shift_formants(audio[:1], torch.tensor([0.9])),
            shift_formants(audio[1:], torch.tensor([1.2])),
        ]
    )
    torch.testing.assert_close(both, alone, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("samples", [4000, 4001, 4127])
def test_istft_equals_that_of_pytorch(samples):
    window = torch.hann_window(512)
    spec = torch.stft(torch.randn(2, samples), 512, 128, window=window, return_complex=True)
    spec = spec * torch.rand(spec.shape)
    expected = torch.istft(spec, 512, 128, window=window, length=samples)
    torch.testing.assert_close(_istft(spec, window, samples), expected, rtol=1e-4, atol=1e-5)

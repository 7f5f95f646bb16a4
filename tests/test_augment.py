"""Augmentations against what their parameters promise, measured by other means than their own code."""

import math

import numpy as np
import pytest
import torch

from qse.data import augmentation as augment
from qse.data.room_simulation import reflection, room_bank, room_response

RATE = 16000
N = 2 * RATE


def white(rows: int, samples: int = N, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, samples, generator=torch.Generator().manual_seed(seed)) * 0.1


def tone(*hertz: float, samples: int = N) -> torch.Tensor:
    return 0.5 * torch.sin(2 * math.pi * torch.tensor(hertz)[:, None] * torch.arange(samples) / RATE)


def band_power(audio: torch.Tensor, low: float, high: float) -> float:
    """Mean power density of one row (N,) in a band, in dB, by NumPy."""
    spectrum = np.abs(np.fft.rfft(audio.double().numpy())) ** 2
    frequency = np.fft.rfftfreq(audio.shape[-1], 1 / RATE)
    return 10 * np.log10(spectrum[(frequency >= low) & (frequency < high)].mean() + 1e-20)


def test_active_level_ignores_pauses():
    speech = tone(440.0)
    half = speech.clone()
    half[:, N // 2 :] = 0
    quiet = speech.clone()
    quiet[:, N // 2 :] *= 10 ** (-45 / 20)
    expected = torch.tensor([0.5 / math.sqrt(2)])
    for audio in (speech, half, quiet):
        torch.testing.assert_close(augment.active_level(audio), expected, rtol=1e-3, atol=0)


def test_snr_is_reached():
    speech, noise = white(4, seed=1), white(4, seed=2) * torch.tensor([[1.0], [0.1], [3.0], [0.01]])
    wanted = torch.tensor([-5.0, 0.0, 7.5, 20.0])
    scaled = augment.at_snr(noise, speech, wanted)
    reached = 10 * np.log10((speech**2).mean(1).numpy() / (scaled**2).mean(1).numpy())
    np.testing.assert_allclose(reached, wanted.numpy(), atol=0.05)


def test_snr_of_silence_is_finite():
    silence, sound = torch.zeros(1, N), white(1)
    ten = torch.tensor([10.0])
    assert not augment.at_snr(silence, sound, ten).any()
    torch.testing.assert_close(augment.at_snr(sound, silence, ten), sound)
    assert not augment.at_snr(silence, silence, ten).any()
    assert not augment.at_snr(sound * 1e-4, sound, ten).any()  # the rounding noise of a silent file stays unheard


def test_peak_is_reached_by_one_common_gain():
    noisy, clean = white(2, seed=1), white(2, seed=2)
    louder, target = augment.at_peak(noisy, clean, torch.tensor([-20.0, 0.0]))
    np.testing.assert_allclose(np.abs(louder.numpy()).max(1), [0.1, 1.0], rtol=1e-5)
    torch.testing.assert_close(louder / noisy, target / clean)
    zero = torch.zeros(2, N)
    assert not torch.stack(augment.at_peak(zero, zero, torch.zeros(2))).any()


@pytest.mark.parametrize("read", [28800, 31040, 35200])
def test_speed_moves_a_tone(read):
    slow = augment.change_speed(tone(1000.0, samples=read), N)
    expected = tone(1000.0 * read / N)
    torch.testing.assert_close(slow[:, 1000:-1000], expected[:, 1000:-1000], atol=2e-3, rtol=0)


def pulses(hertz: float, samples: int = N) -> np.ndarray:
    """A buzz with a period that need not be a whole number of samples."""
    time = np.arange(samples) / RATE
    return sum(np.cos(2 * np.pi * n * hertz * time) / n for n in range(1, int(4000 / hertz) + 1)) * 0.1


def likeness(audio: np.ndarray, place: int, longest: int) -> tuple[int, float]:
    """The period behind a place and how alike its sound is then, by a correlation for each lag."""
    sound, compared = audio[place : place + 4 * longest], 3 * longest
    here = sound[:compared]
    lags = range(longest // 8 - 1, longest + 1)  # the first is too short, and only what the others are compared with
    moved = np.stack([sound[lag : lag + compared] for lag in lags])
    power = np.maximum((moved**2).sum(1), 1e-3 * (here @ here))
    alike = moved @ here / np.sqrt(here @ here * power)
    best = int(np.argmax(alike))
    return lags[best], float(alike[best]) if best else 0.0


def test_the_steadiest_place_is_the_one_that_numpy_finds():
    longest, rng = 266, np.random.default_rng(0)
    audio = np.stack([white(1, seed=row)[0].double().numpy() for row in range(7)])
    audio[0, RATE:] = pulses(110)[RATE:]
    audio[1, :RATE] = pulses(347.3)[:RATE]
    audio[2, 9000:16000] = 0.01 * pulses(200)[9000:16000]  # the most alike of all, but far below the rest
    audio[2, 20000:24000] += pulses(173)[20000:24000]
    audio[3, :] = pulses(140) + 0.02 * audio[3]
    audio[3, 9000:] = 0  # digital silence makes nothing more alike than alike
    audio[4] = np.convolve(audio[4], np.ones(400) / 20, "same")  # rumble: likeness that only falls
    audio[6] = pulses(485) + 0.02 * audio[6]  # with the shortest period that is looked for, 33 samples
    places = np.stack([rng.permutation(N - 4 * longest)[:20] for _ in range(7)])
    places[3, :4] = 8100, 8200, 8300, 8400
    start, period, alike = augment.steadiest(torch.tensor(audio), torch.tensor(places), longest)
    for row in range(7):
        active = float(augment.active_level(torch.tensor(audio[row : row + 1]))) ** 2
        loud = [p for p in places[row] if np.mean(audio[row, p : p + 3 * longest] ** 2) > 0.1 * active]
        found = {p: likeness(audio[row], p, longest) for p in loud}
        best = max(found, key=lambda place: found[place][1])
        assert alike[row] == pytest.approx(found[best][1], abs=1e-6)
        if found[best][1]:
            assert (start[row], period[row]) == (best, found[best][0])
    assert start[0] >= RATE - 4 * longest and start[1] < RATE and 20000 - longest < start[2] < 24000
    assert (alike[[0, 1, 3, 6]] > 0.97).all() and (alike <= 1.001).all()
    assert period[6] == 33
    assert alike[4] < 0.9 and alike[5] < 0.4
    _, _, nothing = augment.steadiest(torch.zeros(1, N), torch.tensor(places[:1]), longest)
    assert nothing.item() == 0


def test_a_held_vowel_lasts_and_what_follows_comes_later():
    period, loop, start, rounds = 40, 160, 1003, 50
    audio = torch.zeros(1, N)
    audio[:, :4000] = tone(RATE / period)[:, :4000]
    audio[:, 4000:5000] = 0.3
    numbers = (torch.tensor([number]) for number in (start, period, loop, rounds))
    held = augment.sustain(audio, *numbers)
    later = 4000 + rounds * loop
    torch.testing.assert_close(held[:, :later], tone(RATE / period)[:, :later], atol=1e-4, rtol=0)
    assert torch.equal(held[:, later:], audio[:, 4000 : N - rounds * loop])
    same = augment.sustain(audio, *(torch.tensor([number]) for number in (start, period, loop, 0)))
    assert torch.equal(same, audio)


def test_no_round_of_a_vowel_begins_with_a_click():
    """Of a glide from 180 Hz down to 150 a loop ends elsewhere in the period than it began."""
    time = torch.arange(N) / RATE
    glide = 0.5 * torch.sin(2 * math.pi * (180 * time - 7.5 * time.square()))[None]
    steepest = glide.diff().abs().max()
    numbers = (torch.tensor([number]) for number in (9000, 92, 92 * 8, 20))
    held = augment.sustain(glide, *numbers)
    assert held.diff().abs().max() < 1.6 * steepest
    assert held.abs().max() <= glide.abs().max()
    rows = augment.sustain(glide.repeat(2, 1), *(torch.tensor(n) for n in ([9000] * 2, [92] * 2, [736] * 2, [20, 0])))
    assert torch.equal(rows, torch.cat([held, glide]))


def test_a_whisper_has_the_formants_and_no_pitch():
    buzz = torch.zeros(1, N)
    buzz[:, :: RATE // 160] = 1.0
    voice = augment.equalise(buzz, torch.tensor([[0.0, 0.0, 20.0, -10.0, 10.0, -20.0]]))  # two formants
    voice[:, N // 2 :] *= 0.1
    whisper = augment.whispered(voice, white(1))
    torch.testing.assert_close(augment.active_level(whisper), augment.active_level(voice))
    places = torch.arange(0, N - 1100, 1500)[None]
    assert augment.steadiest(voice, places, 266)[2] > 0.95 and augment.steadiest(whisper, places, 266)[2] < 0.6
    bands = [(low, low + 500) for low in range(1000, 7500, 500)]
    before, after = (np.array([band_power(audio[0], *band) for band in bands]) for audio in (voice, whisper))
    assert np.abs(after - before - (after - before).mean()).max() < 4
    loud, soft = whisper[0, : N // 2].square().mean(), whisper[0, N // 2 + 512 :].square().mean()
    assert 10 * math.log10(loud / soft) == pytest.approx(20, abs=1)
    assert not augment.whispered(torch.zeros(1, N), white(1)).any()


def test_a_whisper_is_weak_where_a_voice_hums():
    flat = augment.whispered(white(1, seed=1), white(1, seed=2))[0]
    tilt = band_power(flat, 4000, 7000) - band_power(flat, 125, 250)
    assert tilt == pytest.approx(20 * math.log10((5500 / 6000) / (187 / 687)), abs=1.5)


def test_gain_follows_its_knots():
    moved = augment.change_gain(torch.ones(1, 5), torch.tensor([[0.0, 20.0, -20.0]]))
    np.testing.assert_allclose(moved.numpy(), [[1.0, 10**0.5, 10.0, 1.0, 0.1]], rtol=1e-5)


def test_equaliser_passes_through_its_knots():
    knots = torch.tensor([[6.0, -6.0, 3.0, 0.0, -3.0, 5.0]])
    hertz = 60 * (8000 / 60) ** (torch.arange(1, 5) / 5)  # where the inner knots lie
    for index, frequency in enumerate(hertz.tolist(), start=1):
        audio = tone(round(frequency / 0.5) * 0.5)
        gain = augment.equalise(audio, knots).norm() / audio.norm()
        assert 20 * math.log10(gain) == pytest.approx(knots[0, index].item(), abs=0.05)


def test_low_pass_attenuates_above_the_cutoff_only():
    audio = white(2)
    filtered = augment.low_pass(audio, torch.tensor([3400.0, 6000.0]) / 8000)
    for row, cutoff in enumerate((3400, 6000)):
        change = [band_power(filtered[row], *band) - band_power(audio[row], *band) for band in
                  ((50, 0.85 * cutoff), (cutoff - 20, cutoff + 20), (1.2 * cutoff, 8000))]  # fmt: skip
        assert change[0] == pytest.approx(0, abs=0.1)
        assert change[1] == pytest.approx(-3, abs=0.7)
        assert change[2] < -30


@pytest.mark.parametrize("slope", [-9.0, -3.0, 3.0])
def test_colour_has_its_slope(slope):
    noise = augment.coloured(white(1), torch.tensor([slope]))[0]
    measured = band_power(noise, 2000, 2400) - band_power(noise, 500, 600)
    assert measured == pytest.approx(2 * slope, abs=1.5)
    assert abs(noise.mean()) < 1e-6


def test_speech_shaped_noise_has_the_spectrum_but_not_the_waveform():
    model = augment.change_gain(tone(300.0) + tone(1200.0), torch.tensor([[-40.0, 0.0, -40.0]]))
    noise = augment.speech_shaped(white(1), model)
    np.testing.assert_allclose(np.abs(np.fft.rfft(noise)), np.abs(np.fft.rfft(model)), atol=0.5)
    assert abs(torch.nn.functional.cosine_similarity(noise, model)) < 0.5


def test_hum_is_its_harmonics():
    amplitude = torch.tensor([[0.5, 0.0, 0.25]])
    audio = augment.hum(torch.tensor([50.0]), amplitude, torch.zeros(1, 3), RATE, RATE)
    spectrum = np.abs(np.fft.rfft(audio[0].double())) * 2 / RATE  # one bin per Hz
    np.testing.assert_allclose(spectrum[[50, 100, 150]], [0.5, 0.0, 0.25], atol=1e-3)
    assert np.delete(spectrum, [50, 150]).max() < 1e-3


def test_clicks_lie_where_they_should():
    position = torch.tensor([[100, 5000, N - 1]])
    audio = augment.clicks(position, torch.tensor([[1.0, 0.5, 0.25]]), torch.ones(1, 3, 64), N)
    np.testing.assert_allclose(audio[0, [100, 5000, N - 1]], [1.0, 0.5, 0.25])
    np.testing.assert_allclose(audio[0, 116], math.exp(-1), rtol=1e-5)
    assert torch.count_nonzero(audio) == 64 + 64 + 1


def test_soft_clip_leaves_quiet_and_bends_loud():
    audio = tone(440.0)
    clipped = augment.soft_clip(audio, torch.tensor([2.0]))
    assert clipped.abs().max() == pytest.approx(0.5 * math.tanh(2) / 2, rel=1e-3)
    quiet = audio.abs() < 0.005
    torch.testing.assert_close(clipped[quiet], audio[quiet], rtol=1e-3, atol=0)


def test_convolution_agrees_with_numpy():
    audio, taps = white(2, 1000), white(2, 300, seed=1)
    expected = [np.convolve(a.double(), h.double())[:1000] for a, h in zip(audio, taps, strict=True)]
    np.testing.assert_allclose(augment.convolve(audio, taps), expected, atol=1e-5)


def test_early_target_is_the_head_of_the_room():
    audio, response = white(1, 4000), white(1, 2000, seed=1)
    heard, target = augment.reverberate(audio, response, 800)
    late = np.concatenate([np.zeros(800), response[0, 800:].double()])
    np.testing.assert_allclose(target[0], np.convolve(audio[0], response[0, :800])[:4000], atol=1e-5)
    np.testing.assert_allclose((heard - target)[0], np.convolve(audio[0], late)[:4000], atol=1e-5)


@pytest.mark.parametrize("seconds", [0.2, 0.4, 0.8])
def test_rooms_decay_in_their_reverberation_time(seconds):
    bank = room_bank(6, RATE, (seconds, seconds), (0.5, 2.0), seed=3)
    assert torch.equal(bank, room_bank(6, RATE, (seconds, seconds), (0.5, 2.0), seed=3))
    np.testing.assert_allclose(bank[:, 0], 1.0, rtol=1e-5)
    for response in bank.double().numpy():
        energy = np.cumsum(response[::-1] ** 2)[::-1]  # Schroeder integration
        decay = 10 * np.log10(energy[int(0.04 * RATE) :] / energy[int(0.04 * RATE)])
        measured = 3 * np.argmax(decay < -20) / RATE
        assert measured == pytest.approx(seconds, rel=0.2)


def test_first_reflection_comes_from_the_nearest_wall():
    size, rt60 = torch.tensor([6.0, 5.0, 3.0]), torch.tensor([0.5])
    microphone, talker = torch.tensor([3.0, 2.0, 0.5]), torch.tensor([4.0, 2.0, 0.5])
    response = room_response(size, microphone, talker, rt60, torch.zeros(RATE), RATE)
    path = math.hypot(1.0, 1.0)  # by way of the floor, half a metre below both
    first = (path - 1.0) / 343 * RATE
    at = 1 + int(response[1:].abs().argmax())
    assert abs(at - first) <= 1
    assert response[at - 1 : at + 2].sum() == pytest.approx(float(reflection(size, rt60)) / path, rel=0.02)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: augment.at_level(x, torch.ones(1)),
        lambda x: augment.change_speed(x, 900),
        lambda x: augment.equalise(x, torch.ones(1, 6)),
        lambda x: augment.low_pass(x, torch.tensor([0.5])),
        lambda x: augment.speech_shaped(white(1, 1000), x),
        lambda x: augment.speech_shaped(x, white(1, 1000)),
        lambda x: augment.soft_clip(x, torch.ones(1)),
        lambda x: torch.stack(augment.reverberate(x, white(1, 100), 50)),
    ],
)
def test_silence_stays_finite(change):
    assert change(torch.zeros(1, 1000)).isfinite().all()

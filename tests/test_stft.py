"""Analysis against torch.stft, synthesis against reconstruction, features and mask against their formulas."""

import math

import pytest

torch = pytest.importorskip("torch")

import contract

from qse.nn.features import QuaternionFeatures
from qse.nn.mask import MagnitudePhaseMask
from qse.nn.stft import Analysis, Synthesis, window_pair

SIZES = [
    (320, 160, 160),
    (512, 256, 256),
    (512, 160, 160),
    (512, 200, 120),
    (320, 240, 80),
    (512, 255, 1),
    (320, 319, 1),
    (64, 32, 32),
]
each_size = pytest.mark.parametrize("n_fft, hop, overlap", SIZES)


def noise(*shape: int) -> torch.Tensor:
    return 0.3 * torch.randn(*shape)


# Windows


@each_size
def test_window_pair_overlaps_to_one(n_fft, hop, overlap):
    analysis, synthesis = window_pair(n_fft, hop, overlap)
    assert analysis.shape == (n_fft,) and synthesis.shape == (hop + overlap,)
    product = analysis[-hop - overlap :] * synthesis
    product[:overlap] += product[hop:]
    torch.testing.assert_close(product[:hop], torch.ones(hop).double(), rtol=0, atol=1e-12)


@each_size
def test_windows_are_bounded_and_fall_together_where_the_overlap_is_a_hop(n_fft, hop, overlap):
    analysis, synthesis = window_pair(n_fft, hop, overlap)
    assert analysis.min() >= 0 and analysis.max() <= 1 + 1e-12
    assert synthesis.min() >= 0 and synthesis.max() <= 1.54
    if overlap == hop:
        torch.testing.assert_close(analysis[-hop:], synthesis[-hop:])


def test_half_overlap_takes_the_square_root_of_a_hann_window_twice():
    n = torch.arange(320, dtype=torch.float64)
    expected = torch.sin(math.pi * n / 320)  # the root of 0.5 - 0.5 cos(2 pi n / 320)
    for window in window_pair(320, 160, 160):
        torch.testing.assert_close(window, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ((300, 160, 160), "n_fft 300 is shorter than a hop of 160 and an overlap of 160"),
        ((512, 160, 161), "overlap by 161 samples: at least 1 and at most the hop of 160"),
        ((512, 160, -1), "overlap by -1 samples"),
    ],
)
def test_windows_that_do_not_fit_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Analysis(*wrong)


# Analysis and synthesis


@each_size
def test_analysis_is_that_of_torch(n_fft, hop, overlap):
    audio = noise(2, 12 * hop)
    found, past = Analysis(n_fft, hop, overlap)(audio)
    before = torch.cat([torch.zeros(2, n_fft - hop), audio], 1).double()
    window = window_pair(n_fft, hop, overlap)[0]
    expected = torch.stft(before, n_fft, hop, window=window, center=False, return_complex=True).mT  # B, T, F
    torch.testing.assert_close(found[:, 0], expected.real.float(), rtol=0, atol=2e-5)
    torch.testing.assert_close(found[:, 1], expected.imag.float(), rtol=0, atol=2e-5)
    assert torch.equal(past, audio[:, hop - n_fft :])


def test_a_tone_lies_in_its_bin():
    time = torch.arange(20 * 160) / 16000
    spec, _ = Analysis(512, 160)(torch.sin(2 * math.pi * 2000 * time)[None])
    assert spec.square().sum(1)[0, -1].argmax() == 2000 * 512 // 16000


@each_size
def test_reconstruction_is_perfect_and_late_by_the_overlap(n_fft, hop, overlap):
    audio = noise(2, 12 * hop)
    found, _ = Synthesis(n_fft, hop, overlap)(Analysis(n_fft, hop, overlap)(audio)[0])
    assert found.shape == audio.shape
    assert found[:, :overlap].abs().max() < 1e-6
    torch.testing.assert_close(found[:, overlap:], audio[:, :-overlap], rtol=0, atol=2e-6)


@each_size
def test_synthesis_of_a_frame_is_the_windowed_inverse_transform(n_fft, hop, overlap):
    spec = torch.randn(1, 2, 1, n_fft // 2 + 1, dtype=torch.float64)
    found, tail = Synthesis(n_fft, hop, overlap).double()(spec)
    spec[:, 1, :, [0, -1]] = 0  # the imaginary parts of these two bins say nothing
    frame = (
        torch.fft.irfft(torch.complex(*spec[0, :, 0]), n_fft)[-hop - overlap :] * window_pair(n_fft, hop, overlap)[1]
    )
    torch.testing.assert_close(torch.cat([found[0], tail[0]]), frame, rtol=0, atol=1e-6)  # the basis is float32


@each_size
def test_both_keep_the_law(n_fft, hop, overlap):
    contract.verify_stream(Analysis(n_fft, hop, overlap), noise(2, 11 * hop), dim=1, unit=hop, out_dim=2)
    contract.verify_stream(Synthesis(n_fft, hop, overlap), noise(2, 2, 11, n_fft // 2 + 1), dim=2, out_dim=1)


def test_a_part_of_a_hop_is_refused():
    with pytest.raises(ValueError, match="100 samples are no multiple of the hop of 32"):
        Analysis(64, 32)(noise(1, 100))


def test_bases_are_no_weights():
    assert not Analysis(64, 32).state_dict() and not Synthesis(64, 32).state_dict()


def test_autocast_leaves_the_precision_alone():
    audio = noise(1, 320)
    analysis, synthesis = Analysis(64, 32), Synthesis(64, 32)
    spec, _ = analysis(audio)
    expected, _ = synthesis(spec)
    with torch.autocast("cpu", torch.bfloat16):
        found, _ = analysis(audio)
        again, _ = synthesis(found)
    assert torch.equal(found, spec) and torch.equal(again, expected)


# Features


def test_features_of_power_one_are_those_of_the_paper():  # Eq. 19
    spec = torch.randn(2, 2, 5, 7)
    x = torch.complex(spec[:, 0], spec[:, 1])
    expected = torch.stack([torch.zeros_like(x.real), x.abs(), x.real, x.imag], 1)[:, :, None]
    torch.testing.assert_close(QuaternionFeatures(power=1)(spec), expected)


def test_features_compress_the_magnitude_and_keep_the_phase():
    spec = torch.randn(2, 2, 5, 7)
    x = torch.complex(spec[:, 0], spec[:, 1])
    _, m, re, im = QuaternionFeatures(power=0.3)(spec)[:, :, 0].unbind(1)
    torch.testing.assert_close(m, x.abs() ** 0.3)
    torch.testing.assert_close(torch.complex(re, im), torch.polar(x.abs() ** 0.3, x.angle()))


def test_features_look_at_the_first_bins():
    spec = torch.randn(2, 2, 5, 7)
    torch.testing.assert_close(QuaternionFeatures(0.3, bins=6)(spec), QuaternionFeatures(0.3)(spec)[..., :6])


@pytest.mark.parametrize("level", [0.0, 1e-30, 1e-20, 1e-6])
@pytest.mark.parametrize("power", [0.3, 1.0])
def test_features_of_silence_are_finite_and_small(level, power):
    spec = (level * torch.randn(1, 2, 3, 4)).requires_grad_()
    x = QuaternionFeatures(power)(spec)
    x.sum().backward()
    assert torch.isfinite(x).all() and torch.isfinite(spec.grad).all()
    assert x.abs().max() <= 1.1 * max(level * 5, 1e-5) ** power


# Mask


def test_mask_scales_the_magnitude_and_turns_the_phase():  # Eqs. 68-69
    spec, o = torch.randn(2, 2, 5, 7), torch.randn(2, 3, 5, 7)
    x = torch.complex(spec[:, 0], spec[:, 1])
    magnitude = 2 / (1 + (-o[:, 0]).exp()) * x.abs()
    phase = x.angle() + torch.atan2(o[:, 2], 1 + o[:, 1])
    found = MagnitudePhaseMask()(spec, o)
    torch.testing.assert_close(torch.complex(found[:, 0], found[:, 1]), torch.polar(magnitude, phase))


def test_mask_begins_as_the_identity():
    spec = torch.randn(2, 2, 5, 7)
    torch.testing.assert_close(MagnitudePhaseMask()(spec, torch.zeros(2, 3, 5, 7)), spec, rtol=1e-6, atol=0)


def test_the_nyquist_bin_takes_the_last_gain():
    spec, o = torch.randn(2, 2, 5, 7), torch.randn(2, 3, 5, 6)
    whole = torch.cat([o, o[..., -1:]], 3)
    torch.testing.assert_close(MagnitudePhaseMask()(spec, o), MagnitudePhaseMask()(spec, whole))


@pytest.mark.parametrize("o1, o2", [(-1.0, 0.0), (-1.0, 1e-12), (0.0, 0.0)])
def test_mask_and_its_gradient_are_finite_where_there_is_no_direction(o1, o2):
    spec = torch.zeros(1, 2, 1, 1, requires_grad=True)
    o = torch.tensor([0.0, o1, o2]).view(1, 3, 1, 1).requires_grad_()
    y = MagnitudePhaseMask()(spec + 1, o)
    y.sum().backward()
    assert all(torch.isfinite(x).all() for x in (y, spec.grad, o.grad))

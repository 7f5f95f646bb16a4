"""Streaming analysis against torch.stft, synthesis against reconstruction;
the streaming contract."""

import math

import pytest

torch = pytest.importorskip("torch")

from qse.nn import contract
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


@each_size
def test_window_pair_overlaps_to_one(n_fft, hop, overlap):
    analysis, synthesis = window_pair(n_fft, hop, overlap)
    assert analysis.shape == (n_fft,) and synthesis.shape == (hop + overlap,)
    product = analysis[-hop - overlap :] * synthesis
    product[:overlap] += product[hop:]
    torch.testing.assert_close(product[:hop], torch.ones(hop).double(), rtol=0, atol=1e-12)


@each_size
def test_window_pair_is_bounded(n_fft, hop, overlap):
    analysis, synthesis = window_pair(n_fft, hop, overlap)
    assert analysis.min() >= 0 and analysis.max() <= 1 + 1e-12
    assert synthesis.min() >= 0 and synthesis.max() <= 1.54
    if overlap == hop:
        torch.testing.assert_close(analysis[-hop:], synthesis[-hop:])


def test_window_pair_at_half_overlap_is_root_hann():
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
def test_analysis_refuses_windows_that_do_not_fit(wrong, message):
    with pytest.raises(ValueError, match=message):
        Analysis(*wrong)


@each_size
def test_analysis_equals_torch_stft(n_fft, hop, overlap):
    audio = noise(2, 12 * hop)
    found, past = Analysis(n_fft, hop, overlap)(audio)
    before = torch.cat([torch.zeros(2, n_fft - hop), audio], 1).double()
    window = window_pair(n_fft, hop, overlap)[0]
    # B, T, F
    expected = torch.stft(before, n_fft, hop, window=window, center=False, return_complex=True).mT
    torch.testing.assert_close(found[:, 0], expected.real.float(), rtol=0, atol=2e-5)
    torch.testing.assert_close(found[:, 1], expected.imag.float(), rtol=0, atol=2e-5)
    assert torch.equal(past, audio[:, hop - n_fft :])


def test_analysis_of_a_tone_peaks_in_its_bin():
    time = torch.arange(20 * 160) / 16000
    spec, _ = Analysis(512, 160)(torch.sin(2 * math.pi * 2000 * time)[None])
    assert spec.square().sum(1)[0, -1].argmax() == 2000 * 512 // 16000


@each_size
def test_synthesis_reconstructs_after_the_overlap(n_fft, hop, overlap):
    audio = noise(2, 12 * hop)
    found, _ = Synthesis(n_fft, hop, overlap)(Analysis(n_fft, hop, overlap)(audio)[0])
    assert found.shape == audio.shape
    assert found[:, :overlap].abs().max() < 1e-6
    torch.testing.assert_close(found[:, overlap:], audio[:, :-overlap], rtol=0, atol=2e-6)


@each_size
def test_synthesis_of_a_frame_is_the_inverse_fft(n_fft, hop, overlap):
    spec = torch.randn(1, 2, 1, n_fft // 2 + 1, dtype=torch.float64)
    found, tail = Synthesis(n_fft, hop, overlap).double()(spec)
    spec[:, 1, :, [0, -1]] = 0  # the imaginary parts of these two bins have no effect
    frame = (
        torch.fft.irfft(torch.complex(*spec[0, :, 0]), n_fft)[-hop - overlap :]
        * window_pair(n_fft, hop, overlap)[1]
    )
    # the basis is float32
    torch.testing.assert_close(torch.cat([found[0], tail[0]]), frame, rtol=0, atol=1e-6)


@each_size
def test_analysis_and_synthesis_stream(n_fft, hop, overlap):
    contract.verify_stream(
        Analysis(n_fft, hop, overlap), noise(2, 11 * hop), dim=1, unit=hop, out_dim=2
    )
    contract.verify_stream(
        Synthesis(n_fft, hop, overlap), noise(2, 2, 11, n_fft // 2 + 1), dim=2, out_dim=1
    )


def test_analysis_refuses_a_part_of_a_hop():
    with pytest.raises(ValueError, match="100 samples are no multiple of the hop of 32"):
        Analysis(64, 32)(noise(1, 100))


def test_analysis_and_synthesis_have_no_weights():
    assert not Analysis(64, 32).state_dict() and not Synthesis(64, 32).state_dict()


def test_analysis_and_synthesis_ignore_autocast():
    audio = noise(1, 320)
    analysis = Analysis(64, 32)
    synthesis = Synthesis(64, 32)
    spec, _ = analysis(audio)
    expected, _ = synthesis(spec)
    with torch.autocast("cpu", torch.bfloat16):
        found, _ = analysis(audio)
        again, _ = synthesis(found)
    assert torch.equal(found, spec) and torch.equal(again, expected)

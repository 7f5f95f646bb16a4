"""Define metrics, their table, and their names."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from .composite import composite, composite_scaled, segmental_snr
from .energy import (
    UPPER_BAND,
    band_snr,
    log_spectral_distance,
    noise_reduction,
    pause_attenuation,
    si_sdr,
    si_sdr_improvement,
    speech_loss,
)
from .mos import dnsmos
from .perceptual import estoi, pesq_nb, pesq_wb, stoi
from .phase import phase_errors
from .published_protocol import composite_published, si_sdr_published, stoi_published
from .signals import NARROW_BAND, SAMPLE_RATE
from .talkers import leak, over_suppression


@dataclass(frozen=True)
class Metric:
    """A column of a table: heading, function, digits, and what the function needs.

    function: returns a number, or a dict of several metrics that come from one pass over the audio.
    The clean recording is never silent.
    full_band: computed at the rate of the signals; else at 16 kHz, or 8 kHz for those below 16 kHz.
    least_rate: in Hz, of the signals. may_lack: NaN means that an utterance has no value; it is
    left out. on_request: not part of "all". package: that the function imports, of an extra.
    """

    title: str
    function: Callable[..., float | dict[str, float]]
    digits: int = 2
    needs_clean: bool = True
    needs_noisy: bool = False
    full_band: bool = False
    least_rate: int = SAMPLE_RATE
    may_lack: bool = False
    on_request: bool = False
    package: str = ""

    @property
    def roles(self) -> list[str]:
        """Return the roles of the signals that the function takes."""
        roles = ["enhanced"]
        if self.needs_clean:
            roles.append("clean")
        if self.needs_noisy:
            roles.append("noisy")
        return roles


def _energy(
    title: str,
    function: Callable[..., float | dict[str, float]],
    digits: int,
    on_request: bool = False,
) -> Metric:
    """Return a metric of energies, which some utterances lack."""
    return Metric(
        title,
        function,
        digits,
        needs_noisy=True,
        full_band=True,
        least_rate=NARROW_BAND,
        may_lack=True,
        on_request=on_request,
    )


def _rating(title: str, scaled: bool = False) -> Metric:
    """Return a composite measure."""
    if scaled:
        return Metric(f"{title}, scaled WSS", composite_scaled, on_request=True, package="pesq")
    return Metric(title, composite, package="pesq")


def _published(
    title: str,
    function: Callable[..., float | dict[str, float]],
    digits: int = 2,
    package: str = "",
) -> Metric:
    """Return a metric by the protocol of the published code."""
    return Metric(
        f"{title}, published",
        function,
        digits,
        needs_noisy=True,
        on_request=True,
        package=package,
    )


def _opinion(title: str) -> Metric:
    """Return a mean opinion score that needs no reference."""
    return Metric(title, dnsmos, needs_clean=False, package="speechmos.dnsmos")


METRICS: dict[str, Metric] = {  # as the paper's columns, Table 2 and Table 3, then others
    "pesq_wb": Metric("PESQ-WB", pesq_wb, 3, package="pesq"),
    "pesq_nb": Metric("PESQ-NB", pesq_nb, 3, least_rate=NARROW_BAND, package="pesq"),
    "csig": _rating("CSIG"),
    "cbak": _rating("CBAK"),
    "covl": _rating("COVL"),
    "stoi": Metric("STOI", stoi, 4, least_rate=NARROW_BAND, package="pystoi"),
    "si_sdr": Metric("SI-SDR dB", si_sdr, full_band=True, least_rate=NARROW_BAND),
    "estoi": Metric("ESTOI", estoi, 4, least_rate=NARROW_BAND, package="pystoi"),
    "segmental_snr": Metric("SegSNR dB", segmental_snr, least_rate=NARROW_BAND),
    "lsd": Metric("LSD dB", log_spectral_distance, full_band=True, least_rate=NARROW_BAND),
    "dnsmos_ovrl": _opinion("OVRL P.835"),
    "dnsmos_sig": _opinion("SIG P.835"),
    "dnsmos_bak": _opinion("BAK P.835"),
    "dnsmos_p808": _opinion("DNSMOS P.808"),
    "noise_reduction": _energy("noise reduction dB", noise_reduction, 2),
    "speech_loss": _energy("speech loss %", speech_loss, 2),
    "pause_attenuation": _energy("pauses dB", pause_attenuation, 1),
    "pause_attenuation_median": _energy("pauses, median dB", pause_attenuation, 1),
    "band_snr": Metric(
        "8-20 kHz SNR dB",
        band_snr,
        full_band=True,
        least_rate=int(2 * UPPER_BAND[1]),
        may_lack=True,
    ),
    "si_sdri": Metric(
        "SI-SDRi dB",
        si_sdr_improvement,
        needs_noisy=True,
        full_band=True,
        least_rate=NARROW_BAND,
        on_request=True,
    ),
    "leak": _energy("other voices dB", leak, 1, on_request=True),
    "over_suppression": Metric(
        "speech suppressed %",
        over_suppression,
        1,
        full_band=True,
        least_rate=NARROW_BAND,
        may_lack=True,
        on_request=True,
    ),
    "phase_error": Metric("phase error °", phase_errors, 1, on_request=True),
    "frequency_error": Metric("frequency error Hz", phase_errors, 2, on_request=True),
    "csig_scaled": _rating("CSIG", scaled=True),
    "cbak_scaled": _rating("CBAK", scaled=True),
    "covl_scaled": _rating("COVL", scaled=True),
    "pesq_wb_published": _published("PESQ-WB", composite_published, 3, "pesq"),
    "csig_published": _published("CSIG", composite_published, package="pesq"),
    "cbak_published": _published("CBAK", composite_published, package="pesq"),
    "covl_published": _published("COVL", composite_published, package="pesq"),
    "stoi_published": _published("STOI", stoi_published, 4, "pystoi"),
    "si_sdr_published": _published("SI-SDR dB", si_sdr_published),
}
BUILT_IN = frozenset(METRICS)
# columns of an evaluation's rows before and behind those of metrics
FIRST_COLUMNS = ("name", "audio_s", "process_s")
LAST_COLUMNS = ("delay", "drift", "inverted", "trimmed", "stamp", "damage", "error")
NOISY = "noisy_"  # begins the columns of the noisy signals
_added: dict[str, str] = {}
ALIASES: dict[str, tuple[str, ...]] = {
    "pesq": ("pesq_wb",),
    "wb_pesq": ("pesq_wb",),
    "nb_pesq": ("pesq_nb",),
    "sisdr": ("si_sdr",),
    "sisdri": ("si_sdri",),
    "si_sdr_improvement": ("si_sdri",),
    "ssnr": ("segmental_snr",),
    "segsnr": ("segmental_snr",),
    "composite": ("csig", "cbak", "covl"),
    "composite_scaled": ("csig_scaled", "cbak_scaled", "covl_scaled"),
    "published": (
        "pesq_wb_published",
        "csig_published",
        "cbak_published",
        "covl_published",
        "stoi_published",
        "si_sdr_published",
    ),
    "phase": ("phase_error", "frequency_error"),
    "talkers": ("leak", "over_suppression"),
    "pauses": ("pause_attenuation", "pause_attenuation_median"),
    "dnsmos": ("dnsmos_ovrl", "dnsmos_sig", "dnsmos_bak", "dnsmos_p808"),
    "ovrl": ("dnsmos_ovrl",),
    "sig": ("dnsmos_sig",),
    "bak": ("dnsmos_bak",),
    "p808": ("dnsmos_p808",),
}


def add_metric(name: str, metric: Metric, version: str = "") -> None:
    """Add a metric of one's own: scores, evaluations and their tables then know it by its name.

    Its function has keyword arguments: those of `clean`, `enhanced` and `noisy` that the metric
    needs, float arrays (samples,) of one length, and `sample_rate` in Hz. It returns a number.
    They cannot be written to. version: tells one state of the function from another, for which an
    evaluation computes its scores anew; "": every time that the metric is added.
    Raises ValueError for a name that cannot be found again, or that another metric or column has.
    """
    if name != plain_name(name) or not name.isidentifier():
        raise ValueError(f"metric {name!r}: its name must be of lower-case letters, digits and _")
    if name in BUILT_IN or name in ALIASES:
        raise ValueError(f"metric {name!r}: there is one of this name; choose another")
    if name in (*FIRST_COLUMNS, *LAST_COLUMNS) or name.startswith(NOISY):
        raise ValueError(f"metric {name!r}: tables have a column of this name; choose another")
    METRICS[name] = metric
    _added[name] = version or uuid4().hex


def own_metrics() -> dict[str, Metric]:
    """Return the metrics that were added."""
    return {name: metric for name, metric in METRICS.items() if name not in BUILT_IN}


def version_of(name: str) -> str:
    """Return what tells the function of a metric of one's own from one added before or elsewhere;
    "" for the others."""
    return _added.get(name, "")


def plain_name(name: str) -> str:
    """Return the name of a metric as METRICS has it."""
    return name.strip().lower().replace("-", "_").replace(".", "")

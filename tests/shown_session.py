"""A live session that does nothing, with all that the screen reads."""

from types import SimpleNamespace

from qse_cli.running import Running

from qse.live.session import Latency

SOURCE = SimpleNamespace(
    name="1 Blue Yeti Stereo Microphone (alsa_input.usb) (PulseAudio)",
    devices=(),
    lost=False,
    is_live=True,
    bad=0,
    blocksize=200,
    sample_rate=16000,
)


def running_of(**changes):
    """Stand in for what runs, with all that the screen reads; `changes` are of the session."""
    standing = {
        "source": SOURCE,
        "speakers": (),
        "engine": SimpleNamespace(
            name="live-base", version="1", sample_rate=16000, keeps_one=False
        ),
        "noisy": SimpleNamespace(dbfs=-20.0),
        "enhanced": SimpleNamespace(dbfs=-30.0),
        "speech": SimpleNamespace(heard=True),
        "silence": SimpleNamespace(message=None),
        "meter": SimpleNamespace(quantile=lambda share: 0.001),
        "latency": Latency(0.02, 0.05, 0.02, 0.02),
        "dropouts": 3,
        "reasons": {"buffer underrun": 3},
        "channels_heard": "",
        "recorder": None,
        "recorded": [],
        "strength": None,
        "muted": False,
        "bypass": False,
        "resets": 0,
        "pauses": 0,
    }
    return Running(
        SimpleNamespace(**{**standing, **changes}),
        worker=None,
        reconnector=SimpleNamespace(message=None, losses=0),
        controls=SimpleNamespace(message=None),
        standby=SimpleNamespace(
            message="",
            astray="",
            idle=False,
            reported=SimpleNamespace(is_known=False),
            device=SimpleNamespace(is_speaker=False),
        ),
    )

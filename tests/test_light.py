"""The light half, in a fresh process, with everything blocked that a plain install does
not bring."""

import os
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import soundfile

import qse

BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"blocked: {{name}}", name=name)

sys.meta_path.insert(0, Blocker())
"""

EXTRAS = {
    "torch",
    "torchaudio",
    "safetensors",
    "onnx",
    "onnxscript",
    "matplotlib",
    "pesq",
    "pystoi",
    "librosa",
}

FRAMEWORKS = {"pipecat", "livekit", "ray", "pyarrow"}

ABSENT = (
    EXTRAS | FRAMEWORKS | {"tomli_w", "requests", "scipy", "speechmos", "pytest", "sounddevice"}
)


def fresh(code: str, *arguments: str, blocked=frozenset(ABSENT)) -> subprocess.CompletedProcess:
    code = BLOCKER.format(blocked=set(blocked)) + code
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


def test_blocker_blocks():
    assert "blocked: torch" in fresh("import torch").stderr


def test_import_qse_loads_nothing():
    loaded = (
        "import qse; names = {name.split('.')[0] for name in sys.modules}; "
        "print(sorted(names & {'numpy', 'onnxruntime', 'rich'}))"
    )
    assert fresh(loaded).stdout == "[]\n"


def test_qse_works_without_extras(zoo):
    code = f"""
import numpy as np, qse
engine = qse.load({str(zoo / "live-base")!r})
noisy = np.sin(np.arange(1000)).astype("float32")
assert (qse.denoise(noisy, 16000, engine) == noisy).all()
stream = qse.Stream(engine, blocksize=100)
assert (stream.process(noisy)[stream.latency:] == noisy[:-stream.latency]).all()
assert isinstance(qse.available(), list)
unwanted = {ABSENT | {"qse_papers"}!r}
print("done", sorted(name for name in sys.modules if name in unwanted))
"""
    done = fresh(code)
    assert (done.stdout, done.stderr) == ("done []\n", "")


def test_live_works_without_scheduler_functions():
    """As on Windows and macOS, where `os` has nothing that is called sched_."""
    code = """
import os
for name in [name for name in dir(os) if name.startswith(("sched_", "SCHED_", "setpriority"))]:
    delattr(os, name)
import qse.live.session
from qse.live.priority import steady
with steady():
    print("done")
"""
    done = fresh(code, blocked=EXTRAS)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_load_sends_no_telemetry(zoo, tmp_path):
    home = {
        name: value
        for name, value in os.environ.items()
        if name != "ORT_DISABLE_TELEMETRY" and "XDG" not in name
    }
    code = f"import qse; qse.load({str(zoo / 'live-base')!r}); print('done')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env={**home, "HOME": str(tmp_path)}
    )
    assert done.stdout.split() == [b"done"]
    assert list(tmp_path.iterdir()) == []


def test_commands_work_without_extras(models, tmp_path):
    noisy = np.zeros((500, 1), np.float32)
    soundfile.write(tmp_path / "a.wav", noisy, 44100)
    main = "from qse_cli.main import main; main()"
    done = fresh(main, "denoise", str(tmp_path / "a.wav"), "-o", str(tmp_path / "b.wav"))
    assert done.returncode == 0, done.stderr
    assert soundfile.info(tmp_path / "b.wav").frames == 500
    assert "live-base" in fresh(main, "info").stdout
    assert "denoise" in fresh(main, "--help").stdout


def test_qse_public_names():
    assert set(qse.__all__) == {*qse.MODULES, "__version__"}
    for name in qse.__all__:
        assert getattr(qse, name) is not None
    assert not hasattr(qse, "nonsense")
    assert qse.__version__ == version("qse-speech")

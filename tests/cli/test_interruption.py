"""Signals that end qse denoise: no partial file, no abort, a report."""

import os
import signal
import subprocess
import sys
import time

import pytest
from noisy_files import make, tree

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")

ENDLESS = """
import time, qse.runtime.batch as batch
real = batch.enhance
def endless(blocks, *how):
    for number, block in enumerate(real(blocks, *how)):
        yield block
    if number > 1:  # of the long file
        print("begun", flush=True)
        while True:
            yield block
            time.sleep(0.01)
batch.enhance = endless
from qse_cli.main import main
main()
"""
PLAIN = "from qse_cli.main import main; main()"


def start(code, *arguments) -> subprocess.Popen:
    """Run qse denoise, with the signal handlers that a terminal's programs have."""
    return subprocess.Popen(
        [sys.executable, "-c", code, "denoise", *arguments, "--model", "recurrent"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in (1, 2, 15)],
    )


@pytest.mark.parametrize("name, status", [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_denoise_interrupted_leaves_nothing(here, name, status):
    make(here / "a.wav")
    make(here / "b.wav", 200_000)
    make(here / "c.wav")
    process = start(ENDLESS, "a.wav", "b.wav", "c.wav", "--threads", "1")
    assert process.stdout.readline() == "begun\n"  # and never ends by itself
    process.send_signal(getattr(signal, name))
    _, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert tree(here) == ["a-enhanced.wav", "a.wav", "b.wav", "c.wav"]
    assert err.splitlines()[-1] == "qse: interrupted: 1 of 3 written, a-enhanced.wav"


def test_denoise_refuses_a_target_of_another_process(here):
    """At once; and a process that is killed leaves no claim and nothing behind that the next one
    does not remove."""
    make(here / "b.wav", 200_000)
    first = start(ENDLESS, "b.wav", "-o", "two.wav")
    assert first.stdout.readline() == "begun\n"
    second = start(PLAIN, "b.wav", "-o", "two.wav", "--overwrite")
    assert second.communicate(timeout=60)[1].startswith(
        "qse: two.wav is being written by another process: wait"
    )
    assert second.returncode == 1
    first.kill()
    first.communicate()
    third = start(PLAIN, "b.wav", "-o", "two.wav")
    third.communicate(timeout=60)
    assert third.returncode == 0 and tree(here) == ["b.wav", "two.wav"]


def test_denoise_survives_many_signals(here):
    """An interpreter that ends while threads are inside the model would abort; see
    qse.runtime.batch.run."""
    make(here / "a.wav", 3_000_000)
    process = start(PLAIN, "a.wav")
    while not list(here.glob(".qse-*.part")):
        assert process.poll() is None
        time.sleep(0.002)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.005)
    assert tree(here) == ["a.wav"]
    # by the last one, when nothing is left to do
    assert process.returncode in (
        130,
        -signal.SIGINT,
    )
    assert "terminate" not in process.stderr.read()


@pytest.mark.parametrize("name, status", [("SIGTERM", 143), ("SIGINT", 130)])
def test_main_signal_waits_for_an_import(here, name, status):
    module = f"""
import os, signal
try:
    os.kill(os.getpid(), signal.{name})
    list(range(100000))
except BaseException as error:
    raise ImportError("as compiled modules do") from error
print("imported")
"""
    (here / "slow.py").write_text(module)
    code = (
        "import time, qse_cli.main as cli;"
        " cli.app = lambda: (__import__('slow'), time.sleep(60)); cli.main()"
    )
    signals = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    done = subprocess.run(
        [sys.executable, "-c", signals + code], capture_output=True, text=True, timeout=50
    )
    assert (done.stdout, done.stderr, done.returncode) == ("imported\n", "", status)


def test_main_signal_after_the_end_prints_nothing(here):
    code = """
import os, signal, threading, time, qse_cli.main as cli
def late():
    threading.main_thread().join()
    # Python may not act on a signal that comes just before it waits for this thread
    for _ in range(400):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
cli.app = threading.Thread(target=late).start
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert (done.stderr, done.returncode) == ("", 143)

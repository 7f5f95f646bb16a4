"""Fixtures of the tests of training."""

import pytest


@pytest.fixture(scope="session")
def two_processes(tmp_path_factory):
    """Return what two processes left (small_training.work): their folder, the error of one, and
    signal handlers before and after."""
    import signal

    import small_training

    from qse.errors import QseError
    from qse.train import parallel

    def handlers():
        return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    folder = tmp_path_factory.mktemp("processes")
    before = handlers()
    with pytest.raises(QseError) as error:
        parallel.launch(small_training.work, 2, folder)
    return folder, str(error.value), (before, handlers())

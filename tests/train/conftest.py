"""Fixtures of the tests of training."""

import pytest


@pytest.fixture(scope="session")
def two_processes(tmp_path_factory):
    """Return what two processes left (twins.work): their folder, the error of one, signal handlers
    before and after."""
    import signal

    import twins

    from qse.errors import QseError
    from qse.train import parallel

    def handlers():
        return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    folder = tmp_path_factory.mktemp("processes")
    before = handlers()
    with pytest.raises(QseError) as error:
        parallel.launch(twins.work, 2, folder)
    return folder, str(error.value), (before, handlers())

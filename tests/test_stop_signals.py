"""Signals that ask a program to end."""

import os
import signal
from threading import Event

import pytest

from qse import stop_signals
from qse.stop_signals import active_signals, collected, handled_by


def test_active_signals_leaves_out_ignored_ones():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert signal.SIGTERM not in active_signals() and signal.SIGINT in active_signals()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.SIGTERM in active_signals()


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_collected_calls_give_up_from_the_third_signal_on():
    before = signal.getsignal(signal.SIGINT)
    given_up = []
    with collected(given_up.append) as numbers:
        for _ in range(4):
            signal.raise_signal(signal.SIGINT)
    assert numbers == 4 * [signal.SIGINT] and given_up == 2 * [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_collected_calls_give_up_some_time_after_the_second_signal(monkeypatch):
    monkeypatch.setattr(stop_signals, "LONGEST", 0.05)
    given_up = Event()
    with collected(lambda number: given_up.set()):
        signal.raise_signal(signal.SIGINT)
        assert not given_up.wait(0.3)
        signal.raise_signal(signal.SIGINT)
        assert given_up.wait(60)
    monkeypatch.setattr(stop_signals, "LONGEST", 1.0)
    given_up.clear()
    with collected(lambda number: given_up.set()):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert not given_up.wait(1.5)  # it has ended by itself


def test_handled_by_leaves_a_handler_that_was_installed_meanwhile():
    before = signal.getsignal(signal.SIGTERM)
    try:
        with handled_by(print):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is not print
    finally:
        signal.signal(signal.SIGTERM, before)

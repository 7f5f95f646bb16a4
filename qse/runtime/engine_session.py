"""Run the graph of a streaming model along one signal."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

State = dict[str, np.ndarray]


class EngineSession:
    """Run an engine along one signal and keep its state.

    Two sets of state buffers alternate as input and output; nothing is copied. `copy.deepcopy`
    gives a session that goes on from the same state with another signal.
    """

    def __init__(
        self,
        session: Any,
        beginning: State,
        hop_length: int,
        watched: Callable[[], AbstractContextManager],
        state: State | None = None,
    ):
        """`beginning`: the state before the first sample; `watched`: returns the context of the
        calls of one session; `state`: to go on from, None: `beginning`. Neither is changed."""
        from onnxruntime import OrtValue

        before = copied(state or beginning)
        room = copied(beginning)
        self._beginning = beginning
        self._session = session
        self._watch = watched
        self._watched = watched()
        self._state = (before, room)  # the present one first
        self._audio = np.zeros((1, hop_length), np.float32)
        self._enhanced = np.zeros((1, hop_length), np.float32)
        self._value = OrtValue.ortvalue_from_numpy  # shares the array's memory
        self._bindings = (self._bind(before, room), self._bind(room, before))  # the next one first

    def _bind(self, before: State, room: State) -> Any:
        binding = self._session.io_binding()
        binding.bind_ortvalue_input("audio", self._value(self._audio))
        binding.bind_ortvalue_output("enhanced", self._value(self._enhanced))
        for name in before:
            binding.bind_ortvalue_input(name, self._value(before[name]))
            binding.bind_ortvalue_output(next_name(name), self._value(room[name]))
        return binding

    def step(self, hop: np.ndarray) -> np.ndarray:
        """Enhance `hop` (hop_length,): return (hop_length,), a buffer that the next step
        overwrites."""
        self._audio[0] = hop
        with self._watched as options:
            self._session.run_with_iobinding(self._bindings[0], options)
        self._bindings = self._bindings[::-1]
        self._state = self._state[::-1]
        return self._enhanced[0]

    def __deepcopy__(self, memo: dict) -> "EngineSession":
        hop_length = self._audio.shape[1]
        state = self._state[0]
        return EngineSession(self._session, self._beginning, hop_length, self._watch, state)

    def reset(self) -> None:
        """Set the state to that before the first sample."""
        for name, array in self._beginning.items():
            self._state[0][name][:] = array


def copied(state: State) -> State:
    """Return a state with arrays of its own."""
    return {name: array.copy() for name, array in state.items()}


def next_name(name: str) -> str:
    """Return the output that is the next value of a state."""
    return name.replace("state.", "next.", 1)

"""Live sound: a microphone, made clean, into headphones or into a virtual device that a meeting program can pick.

The way of a sample, a room each, and which thread does the work there:

    ports.py     Microphone: callback -> ring                    PortAudio's thread, which only copies
    ring.py      the rings between threads
    drift.py     device's rate -> model's rate                   the worker
    session.py   hops -> Stream -> enhanced hops                 the worker
    drift.py     model's rate -> device's rate and clock         the worker
    player.py    ring -> callback, and what is heard when it is empty
    ports.py     Loudspeaker: callback                           PortAudio's thread

Beside it: files.py (files in place of devices), recorder.py (both sides to disk, a thread of its own), devices.py
(which devices there are), watch.py (the worker's thread; devices that vanish and return), warmup.py (is the model fast
enough here), priority.py (whose turn it is).
"""

"""Live sound: a microphone, enhanced, into headphones or into a virtual device that a meeting
program can use.

The path of a sample, and the thread that does the work:

    microphone.py     callback -> ring buffer                the stream's thread, only a copy
    downmix.py        channels -> one channel                the worker
    Converter         device's rate -> model's rate          the worker
    session.py        hops -> model -> enhanced hops         the worker
    Converter         model's rate -> device's rate; its ratio is set by clock_drift.py
    jitter_buffer.py  buffer before the output's callback
    loudspeaker.py    callback                               the stream's thread

Others:

    protocols.py        interfaces of sources and outputs
    sound_system.py     sound server or PortAudio; the sound server: pulse_*.py
    devices.py          list of devices; an open one: ports.py
    file_input.py       a file in place of the microphone
    recorder.py         both sides to disk, in a thread of its own
    worker.py           the thread of the session
    microphone_wait.py  wait until there is a microphone
    reconnect.py        devices that vanish and return
    virtual_device.py   a microphone for other programs
    standby.py          close the devices while nobody listens to it
    level.py, activity.py, dropouts.py, speed_check.py    what the screen shows
    model_choice.py     the model that a latency allows
    priority.py         scheduling
"""

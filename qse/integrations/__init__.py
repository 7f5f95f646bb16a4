"""Adapters for frameworks that process live audio or large data sets; each needs the extra of its
name.

pcm.py       16-bit PCM in, as many bytes of enhanced PCM out: the core of the live adapters
pipecat.py   an audio filter for a Pipecat transport
livekit.py   a frame processor for a LiveKit audio stream
ray.py       a callable class for `ray.data.Dataset.map_batches`
"""

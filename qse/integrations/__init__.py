"""Adapters for live audio, telephone calls and large data sets; those for a framework need the
extra of its name.

pcm.py           PCM of 16 bits or G.711 in, as many bytes of enhanced PCM out
g711.py          mu-law and A-law, the 8-bit samples of telephone calls
stream_group.py  many streams in one call of a model
pipecat.py       an audio filter for a Pipecat transport
livekit.py       a frame processor for a LiveKit audio stream
ray.py           a callable class for `ray.data.Dataset.map_batches`
"""

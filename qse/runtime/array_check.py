"""Check arrays of samples that are given as arguments."""

import numpy as np


def float_array(name: str, audio: np.ndarray) -> np.ndarray:
    """Return the argument `name` as an array. Raises TypeError if its samples are not floats."""
    if isinstance(audio, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: fill its gaps first, as by {name}.filled(0)")
    kind = type(audio).__name__
    try:
        audio = np.asarray(audio)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists, tensors with gradients
        cure = "convert it to a NumPy array of float32 first"
        raise TypeError(f"{name} is no array of samples, but {kind}: {cure}") from error
    if audio.dtype.kind != "f":
        cure = (
            "divide PCM by its full scale first"
            if audio.dtype.kind in "iu"
            else "give an array of samples"
        )
        raise TypeError(f"{name} must hold floats in [-1, 1], not {audio.dtype}; {cure}")
    return audio

"""Compute DNSMOS: mean opinion scores without a reference, by networks trained on human ratings of
9 s of speech.

Reddy, Gopal, Cutler: P.808 (ICASSP 2021) rates overall quality, P.835 (ICASSP 2022) speech (SIG),
background (BAK) and overall quality (OVRL). The package `speechmos` contains the networks.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..extras import need


def dnsmos(*, enhanced: np.ndarray, sample_rate: int) -> dict[str, float]:
    """Return dnsmos_ovrl, dnsmos_sig, dnsmos_bak, dnsmos_p808, each 1 to 5, of float (samples,) at
    16 kHz.

    Samples beyond +-1 are clipped, as they would be in a file. Less than 9 s is repeated, more is
    averaged over windows of 9 s, one each second: the rule of the challenge's own script.
    """
    scores = _scorer()(np.clip(np.asarray(enhanced, np.float32), -1, 1), sample_rate, False)
    return {
        "dnsmos_ovrl": float(scores["ovrl_mos"]),
        "dnsmos_sig": float(scores["sig_mos"]),
        "dnsmos_bak": float(scores["bak_mos"]),
        "dnsmos_p808": float(scores["p808_mos"]),
    }


@lru_cache(maxsize=1)
def _scorer() -> Any:
    """Return speechmos' DNSMOS with sessions on one thread each, for many processes at once."""
    import onnxruntime

    package = need("speechmos.dnsmos")
    folder = Path(package.__file__).with_name("dnsmos_models")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1

    def session(path: Path) -> Any:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    scorer = package.DNSMOS.__new__(package.DNSMOS)
    primary = folder / "sig_bak_ovr.onnx"
    scorer.primary_model_path = str(primary)
    scorer.onnx_sess = session(primary)
    scorer.p808_onnx_sess = session(folder / "model_v8.onnx")
    return scorer

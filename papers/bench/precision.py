"""Measure speed and accuracy of reduced precision: 32- and 16-bit floats, 8-bit integers, by ONNX
Runtime's tools.

float32        as released
float16        16-bit weights and arithmetic, 32-bit inputs and outputs
int8 products  8-bit weights of MatMul and Gemm, dynamic scales of activations
int8           the same for convolutions as well
int8 static    all of them, scales of activations calibrated on noise
"""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from qse.audio.private_folder import private_folder
from qse.bench import Request
from qse.bench.models import chosen, graphs
from qse.bench.table import Column, Table
from qse.extras import need
from qse.machine import machine
from qse.runtime.engine import Engine
from qse.runtime.timing import GROUP, race, stepper

COLUMNS = (
    Column("model", "model"),
    Column("precision", "precision"),
    Column("p50", "p50 µs", ".0f", 1e6),
    Column("p99", "p99", ".0f", 1e6),
    Column("ratio", "time / float32", ".2f"),
    Column("bytes", "KB", ".0f", 1e-3),
    Column("snr", "SNR dB", ".1f"),
)
CALIBRATION = 100  # hops
COMPARED = 200  # hops


def bench(request: Request) -> Table:
    """Time every model of the request, or all trained ones, in every precision, in turn."""
    rows = list[dict]()
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.ERROR)  # the converters recommend preprocessing
    try:
        with graphs(chosen(request.models)) as paths, private_folder() as folder:
            for name, path in paths.items():
                rows += _rows(name, path, folder, request)
    finally:
        logging.getLogger().setLevel(level)
    notes = ("SNR: output on noise, with the output of float32 as the signal.",)
    return Table("precision", COLUMNS, rows, machine(request.threads), notes)


def _rows(name: str, path: Path, folder: Path, request: Request) -> Iterator[dict]:
    engines = {"float32": Engine(path, request.threads)}
    for precision, convert in CONVERSIONS.items():
        target = folder / f"{path.parent.name} {precision}.onnx"
        convert(path, target)
        engines[precision] = Engine(target, request.threads)
    steppers = {}
    outputs = {}
    for key, engine in engines.items():
        steppers[key] = stepper(engine)
        outputs[key] = _output(engine)
    times = race(steppers, request.seconds, group=GROUP)
    for key, engine in engines.items():
        yield {
            "model": name,
            "precision": key,
            "p50": times[key].median,
            "p99": times[key].quantile(0.99),
            "ratio": times[key].median / times["float32"].median,
            "bytes": engine.path.stat().st_size,
            "snr": None if key == "float32" else _snr(outputs["float32"], outputs[key]),
        }


def _output(engine: Engine) -> np.ndarray:
    step = stepper(engine)
    return np.concatenate([step().copy() for _ in range(COMPARED)])


def _snr(signal: np.ndarray, other: np.ndarray) -> float:
    return float(10 * np.log10(np.sum(signal**2) / np.sum((other - signal) ** 2)))


def float16(source: Path, target: Path) -> None:
    onnx = need("onnx", "train")
    converter = need("onnxruntime.transformers.float16")
    onnx.save(converter.convert_float_to_float16(onnx.load(source), keep_io_types=True), target)


def dynamic(*operators: str) -> Callable[[Path, Path], None]:
    """Return a converter to 8-bit weights of these operators; of all that ONNX Runtime supports if
    none is named."""

    def convert(source: Path, target: Path) -> None:
        quantization = need("onnxruntime.quantization")
        quantization.quantize_dynamic(source, target, op_types_to_quantize=list(operators) or None)

    return convert


def static(source: Path, target: Path) -> None:
    """Convert to 8-bit weights and activations, calibrated on noise and the states that follow from
    it."""
    need("onnxruntime.quantization")
    from onnxruntime.quantization import CalibrationDataReader, quantize_static

    engine = Engine(source)
    state = engine.initial_state()
    rng = np.random.default_rng(0)
    inputs = []
    for _ in range(CALIBRATION):
        hop = 0.1 * rng.standard_normal(engine.graph_hop_length).astype(np.float32)
        inputs.append({"audio": hop[None], **state})
        _, state = engine.step(hop, state)

    class Noise(CalibrationDataReader):
        def get_next(self) -> dict | None:
            return inputs.pop(0) if inputs else None

    quantize_static(source, target, Noise())


CONVERSIONS = {
    "float16": float16,
    "int8 products": dynamic("MatMul", "Gemm"),
    "int8": dynamic(),
    "int8 static": static,
}

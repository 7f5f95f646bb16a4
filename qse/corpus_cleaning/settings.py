"""Everything that determines the samples of an enhanced file: the model, its settings, and this
library's version."""

import hashlib
import json
from dataclasses import asdict, dataclass

from .. import __version__
from ..runtime.bands import BandModels
from ..runtime.onnx_session import graph_bytes
from ..runtime.voice import Voice
from ..runtime.zoo import WIDE_BAND


@dataclass(frozen=True)
class Settings:
    """Recorded with every finished file; `strength` is the attenuation limit in dB, `format` a
    suffix or None, `fast` as in `load`, `talker` "near", the checksum of a voice, or None."""

    model: str
    model_sha256: str
    strength: float | None
    format: str | None
    fast: bool = False
    talker: str | None = None
    version: str = __version__

    @classmethod
    def of(
        cls, models: BandModels, strength: float | None = None, format: str | None = None
    ) -> "Settings":
        """Return the settings of a model; its checksum is that of the files of its graphs, one
        after another."""
        digest = hashlib.sha256()
        for path in models.graphs:
            digest.update(graph_bytes(path))
        name = models.at(WIDE_BAND).name
        talker = models.talker.checksum if isinstance(models.talker, Voice) else models.talker
        return cls(name, digest.hexdigest(), strength, format, models.fast, talker)

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that differ between different settings; the model's name, and a
        talker where there is none, do not count."""
        values = asdict(self)
        del values["model"]
        if self.talker is None:
            del values["talker"]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        limit = (
            "no attenuation limit"
            if self.strength is None
            else f"attenuation limit {self.strength:g} dB"
        )
        form = f", format {self.format}" if self.format else ""
        fast = ", fast" if self.fast else ""
        talker = f", talker {self.talker[:8]}" if self.talker else ""
        model = f"{self.model} ({self.model_sha256[:8]}){fast}{talker}"
        return f"model {model}, {limit}{form}, qse {self.version}"

"""Name the parts of the papers' laboratory that recipes and commands know by a short name.

Each stands as "package.module:Name", as a part of a stranger's does, and is imported when it is
used (references.py). No other module of this package knows where they are.
"""

PACKAGE = "qse_papers"

NETWORKS = {
    "qconformer": "qse_papers.networks.offline:QuaternionOffline",
    "qconformer-hamilton": "qse_papers.networks.offline:QuaternionConformerHamilton",
    "qtransformer": "qse_papers.networks.offline:QuaternionTransformer",
    "qtransformer-hamilton": "qse_papers.networks.offline:QuaternionTransformerHamilton",
    "qtn": "qse_papers.networks.offline:QuaternionTransformerConvolution",
    "qdensenet": "qse_papers.networks.offline:QuaternionDense",
    "conformer": "qse_papers.networks.conformer:RealOffline",
}

TIME_MIXERS = {
    "rnn": "qse_papers.nn.cells:QuaternionRNN",
    "lstm": "qse_papers.nn.cells:QuaternionLSTM",
    "hamilton": "qse_papers.nn.hamilton:CausalHamiltonAttention",
    "ssm": "qse_papers.nn.ssm:QuaternionSSM",
    "lru": "qse_papers.nn.lru:QuaternionLRU",
    "token": "qse_papers.nn.token:GlobalToken",
}

BAND_ATTENTION = {"hamilton": "qse_papers.nn.hamilton:HamiltonAttention"}

BENCHMARKS = {
    "precision": "qse_papers.bench.precision:bench",
    "attention": "qse_papers.bench.attention:bench",
    "layers": "qse_papers.bench.layers:bench",
    "offline": "qse_papers.bench.offline:bench",
}

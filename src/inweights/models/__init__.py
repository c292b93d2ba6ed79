"""Who learns: architectures whose parameters all start with a replica axis.

Configs are there at once; an architecture, and torch with it, is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inweights.models.configs import (
    DeepLinearConfig,
    EmbMLPConfig,
    GPTConfig,
    Init,
    MambaConfig,
    ModelConfig,
    Node2VecConfig,
    OneLayerConfig,
    TinyNNConfig,
)
from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.models.base import Model
    from inweights.models.deep_linear import DeepLinear
    from inweights.models.emb_mlp import EmbMLP
    from inweights.models.export import from_transformers, to_transformer_lens, to_transformers
    from inweights.models.gpt import GPT
    from inweights.models.layers import Embedding, Layer, LayerNorm, Linear, initialise
    from inweights.models.mamba import Mamba
    from inweights.models.node2vec import Node2Vec
    from inweights.models.one_layer import OneLayer
    from inweights.models.packing import Packed, pack
    from inweights.models.registry import model_names, register_model
    from inweights.models.save import join_replicas, load_model, save_model
    from inweights.models.tiny_nn import TinyNN

__all__ = [
    "GPT",
    "DeepLinear",
    "DeepLinearConfig",
    "EmbMLP",
    "EmbMLPConfig",
    "Embedding",
    "GPTConfig",
    "Init",
    "Layer",
    "LayerNorm",
    "Linear",
    "Mamba",
    "MambaConfig",
    "Model",
    "ModelConfig",
    "Node2Vec",
    "Node2VecConfig",
    "OneLayer",
    "OneLayerConfig",
    "Packed",
    "TinyNN",
    "TinyNNConfig",
    "from_transformers",
    "initialise",
    "join_replicas",
    "load_model",
    "model_names",
    "pack",
    "register_model",
    "save_model",
    "to_transformer_lens",
    "to_transformers",
]

_HOMES = {
    "base": ("Model",),
    "deep_linear": ("DeepLinear",),
    "emb_mlp": ("EmbMLP",),
    "export": ("from_transformers", "to_transformer_lens", "to_transformers"),
    "gpt": ("GPT",),
    "layers": ("Embedding", "Layer", "LayerNorm", "Linear", "initialise"),
    "mamba": ("Mamba",),
    "node2vec": ("Node2Vec",),
    "one_layer": ("OneLayer",),
    "packing": ("Packed", "pack"),
    "registry": ("model_names", "register_model"),
    "save": ("join_replicas", "load_model", "save_model"),
    "tiny_nn": ("TinyNN",),
}

__getattr__, __dir__ = lazily(__name__, _HOMES)

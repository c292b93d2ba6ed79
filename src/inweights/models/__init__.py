"""Who learns: architectures whose parameters all start with a replica axis."""

from inweights.models.base import Model
from inweights.models.emb_mlp import EmbMLP, EmbMLPConfig
from inweights.models.gpt import GPT, GPTConfig
from inweights.models.layers import Embedding, Init, Layer, LayerNorm, Linear, initialise
from inweights.models.packing import Packed, pack

__all__ = [
    "GPT",
    "EmbMLP",
    "EmbMLPConfig",
    "Embedding",
    "GPTConfig",
    "Init",
    "Layer",
    "LayerNorm",
    "Linear",
    "Model",
    "Packed",
    "initialise",
    "pack",
]

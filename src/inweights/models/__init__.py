"""Who learns: architectures whose parameters all start with a replica axis."""

from inweights.models.base import Model, ModelConfig
from inweights.models.emb_mlp import EmbMLP, EmbMLPConfig
from inweights.models.export import from_transformers, to_transformers
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
    "ModelConfig",
    "Packed",
    "from_transformers",
    "initialise",
    "pack",
    "to_transformers",
]

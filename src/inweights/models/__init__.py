"""Who learns: architectures whose parameters all start with a replica axis."""

from inweights.models.base import Model, ModelConfig
from inweights.models.deep_linear import DeepLinear, DeepLinearConfig
from inweights.models.emb_mlp import EmbMLP, EmbMLPConfig
from inweights.models.export import from_transformers, to_transformer_lens, to_transformers
from inweights.models.gpt import GPT, GPTConfig
from inweights.models.layers import Embedding, Init, Layer, LayerNorm, Linear, initialise
from inweights.models.mamba import Mamba, MambaConfig
from inweights.models.node2vec import Node2Vec, Node2VecConfig
from inweights.models.one_layer import OneLayer, OneLayerConfig
from inweights.models.packing import Packed, pack
from inweights.models.registry import model_names, register_model
from inweights.models.save import join_replicas, load_model, save_model
from inweights.models.tiny_nn import TinyNN, TinyNNConfig

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

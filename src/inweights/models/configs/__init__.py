"""Configs of the built-in architectures: their settings, which do not import torch.

A world, a model's config and a learner form a trial of an experiment.
``GPTConfig().build(vocabulary=9, seeds=3)`` creates the model, and imports its
architecture (``building.py``). The initial scale ``init`` may differ between replicas.
Each class raises a ``ConfigError`` for values that are out of range or contradict each
other.
"""

from inweights.models.configs.initial_scale import MAX_SCALE, Init
from inweights.models.configs.model_config import ModelConfig, Start
from inweights.models.configs.sequence import GPTConfig, MambaConfig, Mixing, Positions
from inweights.models.configs.small import (
    DeepLinearConfig,
    EmbMLPConfig,
    Node2VecConfig,
    OneLayerConfig,
    TinyNNConfig,
)

__all__ = [
    "MAX_SCALE",
    "DeepLinearConfig",
    "EmbMLPConfig",
    "GPTConfig",
    "Init",
    "MambaConfig",
    "Mixing",
    "ModelConfig",
    "Node2VecConfig",
    "OneLayerConfig",
    "Positions",
    "Start",
    "TinyNNConfig",
]

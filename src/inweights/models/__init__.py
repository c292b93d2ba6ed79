"""Models: architectures whose parameters all start with a replica axis, and their configs.

A config (:class:`GPTConfig`, :class:`EmbMLPConfig`, ...) builds a :class:`Model` for
the vocabulary of a world; :func:`wrap` makes a config of any ``torch.nn.Module``.
Training changes models, and probes measure them. Configs do not import torch; an
architecture is imported when it is first used.
"""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.models.base import Model as Model
    from inweights.models.building import join_replicas as join_replicas
    from inweights.models.configs import DeepLinearConfig as DeepLinearConfig
    from inweights.models.configs import EmbMLPConfig as EmbMLPConfig
    from inweights.models.configs import GPTConfig as GPTConfig
    from inweights.models.configs import Init as Init
    from inweights.models.configs import MambaConfig as MambaConfig
    from inweights.models.configs import ModelConfig as ModelConfig
    from inweights.models.configs import Node2VecConfig as Node2VecConfig
    from inweights.models.configs import OneLayerConfig as OneLayerConfig
    from inweights.models.configs import TinyNNConfig as TinyNNConfig
    from inweights.models.deep_linear import DeepLinear as DeepLinear
    from inweights.models.emb_mlp import EmbMLP as EmbMLP
    from inweights.models.export import from_transformers as from_transformers
    from inweights.models.export import to_transformer_lens as to_transformer_lens
    from inweights.models.export import to_transformers as to_transformers
    from inweights.models.gpt import GPT as GPT
    from inweights.models.layers import Embedding as Embedding
    from inweights.models.layers import Layer as Layer
    from inweights.models.layers import LayerNorm as LayerNorm
    from inweights.models.layers import Linear as Linear
    from inweights.models.layers import initialise as initialise
    from inweights.models.mamba import Mamba as Mamba
    from inweights.models.node2vec import Node2Vec as Node2Vec
    from inweights.models.one_layer import OneLayer as OneLayer
    from inweights.models.outside.module_configs import TrainedConfig as TrainedConfig
    from inweights.models.outside.module_configs import WrapConfig as WrapConfig
    from inweights.models.outside.trained_model import Trained as Trained
    from inweights.models.outside.wrapped import Wrapped as Wrapped
    from inweights.models.outside.wrapping import wrap as wrap
    from inweights.models.packing import Packed as Packed
    from inweights.models.packing import pack as pack
    from inweights.models.registry import model_names as model_names
    from inweights.models.registry import register_model as register_model
    from inweights.models.save import load_model as load_model
    from inweights.models.save import save_model as save_model
    from inweights.models.tiny_nn import TinyNN as TinyNN

lazily(__name__)

"""Configs of the built-in architectures: their settings, as values without torch.

A world, a config of a model and a learner make a trial.
``GPTConfig().build(vocabulary=9, seeds=3)`` makes the model; its architecture is
imported then (``building.py``). The initial scale, ``init``, may differ between
replicas. Each class raises a ``ConfigError`` for values that are out of range or
contradict each other.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Literal, Unpack

from inweights.config import Config, check_size
from inweights.errors import ConfigError
from inweights.models.building import build_model
from inweights.models.initial_scale import Init
from inweights.models.model_config import ModelConfig, Start

if TYPE_CHECKING:
    from inweights.models.deep_linear import DeepLinear
    from inweights.models.emb_mlp import EmbMLP
    from inweights.models.gpt import GPT
    from inweights.models.mamba import Mamba
    from inweights.models.node2vec import Node2Vec
    from inweights.models.one_layer import OneLayer
    from inweights.models.tiny_nn import TinyNN

__all__ = ["Init", "ModelConfig"]  # passed on

Positions = Literal["learned", "sinusoidal", "none"]
Mixing = Literal["causal", "uniform", "none"]
#: The largest scale of logits, or of a start: any finite one.
MAX_SCALE = sys.float_info.max


def _check_std(name: str, std: float | None) -> None:
    if std is not None and not 0 < std <= MAX_SCALE:
        raise ConfigError(f"{name} must be above 0, got {std}; leave it out for init")


class GPTConfig(Config, tag_field="kind", tag="gpt"):
    """Settings of a :class:`GPT`, a GPT-2 (Radford et al. 2019).

    Attributes:
        layers: Number ``L`` of blocks.
        loops: How often a sequence passes through all blocks, with the same weights.
        inject: Whether the embedding is added again before each further pass.
        memory: Slots of a key-value memory that every block reads, the same for all; 0
            for none.
        width: Width ``D`` of the residual stream.
        heads: Number ``H`` of attention heads; it divides the width.
        positions: ``learned``, ``sinusoidal`` or ``none``: the position embeddings.
        context: Number of positions; longer inputs are refused.
        tied: Whether the head is the token embedding.
        attention: ``causal``; ``uniform`` gives every visible position the same weight;
            ``none`` lets no position see another.
        residual: Whether blocks add to their input.
        norm: Whether there is layer normalisation.
        embedding_std: Initial standard deviation of the token embeddings, such as 1 for
            PyTorch's own; by default that of :attr:`init`.
        position_std: Initial standard deviation of learned position embeddings; by
            default that of :attr:`init`.
        depth_scaled: Whether the last matrices of attention and MLP, which write into
            the residual stream, start ``√(2L)`` times smaller than :attr:`init` says,
            as those of GPT-2 do.
        dropout: Probability with which an entry of what attention and MLP add to the
            residual stream is set to 0 while training.
        init: Initial scale of every weight matrix; biases start at 0.
    """

    later = {
        "embedding_std": None,
        "position_std": None,
        "dropout": 0.0,
        "loops": 1,
        "inject": False,
        "memory": 0,
        "depth_scaled": False,
    }
    newer = ("loops", "inject", "memory", "depth_scaled")

    layers: int = 8
    loops: int = 1
    inject: bool = False
    memory: int = 0
    width: int = 64
    heads: int = 2
    positions: Positions = "learned"
    context: int = 8
    tied: bool = True
    attention: Mixing = "causal"
    residual: bool = True
    norm: bool = True
    embedding_std: float | None = None
    position_std: float | None = None
    depth_scaled: bool = False
    dropout: float = 0.0
    init: Init = Init()

    def __post_init__(self) -> None:
        for name in ("layers", "loops", "width", "heads", "context"):
            check_size(f"gpt.{name}", getattr(self, name))
        check_size("gpt.memory", self.memory, least=0)
        if self.inject and self.loops == 1:
            raise ConfigError("gpt.inject has no effect with one loop; leave it out")
        if self.width % self.heads:
            raise ConfigError(
                f"gpt.heads must divide gpt.width: {self.heads} does not divide {self.width}"
            )
        _check_std("gpt.embedding_std", self.embedding_std)
        _check_std("gpt.position_std", self.position_std)
        if self.position_std is not None and self.positions != "learned":
            raise ConfigError(
                f"gpt.position_std has no effect on positions = '{self.positions}'; leave it out"
            )
        check_size("gpt.dropout", self.dropout, least=0, below=1)

    def build(self, **start: Unpack[Start]) -> GPT:
        """Build the model, one replica a seed, with logits for all tokens.

        Arguments are those of :meth:`ModelConfig.build`; ``candidates`` have no effect.
        """
        model: GPT = build_model("gpt", self, **start)
        return model


class EmbMLPConfig(Config, tag_field="kind", tag="emb-mlp"):
    """Settings of an :class:`EmbMLP` (Identity Bridge, Definition 1).

    Attributes:
        width: Width ``D`` of the embeddings. Theory about the least norm needs at least
            the rank of the solution.
        init: Initial scale of both matrices.
    """

    width: int = 64
    init: Init = Init(std=0.01)

    def __post_init__(self) -> None:
        check_size("emb-mlp.width", self.width)

    def build(self, **start: Unpack[Start]) -> EmbMLP:
        """Build the model, one replica a seed, with logits for ``candidates`` (``V_out``).

        Arguments are those of :meth:`ModelConfig.build`.
        """
        model: EmbMLP = build_model("emb-mlp", self, **start)
        return model


class TinyNNConfig(Config, tag_field="kind", tag="tiny-nn"):
    """Settings of a :class:`TinyNN` (Geometric Memory B.2.2, B.5).

    Attributes:
        width: Width ``D``. The paper takes 32 for the star and the grid, 16 for the
            irregular graph, and 512 for the cycle and wherever the width shall not
            limit what is stored.
        frozen: Whether the embeddings stay as they were drawn: associative storage,
            with nothing trained but ``W`` and ``b``.
        embedding_std: Initial standard deviation of the embeddings, such as 1 for
            PyTorch's own (Fig. 28); by default that of :attr:`init`.
        dropout: Probability with which an entry of the middle layer is set to 0 while
            training (Fig. 31).
        init: Initial scale of every weight matrix; ``b`` starts at 0.
    """

    later = {"dropout": 0.0}

    width: int = 32
    frozen: bool = False
    embedding_std: float | None = None
    dropout: float = 0.0
    init: Init = Init()

    def __post_init__(self) -> None:
        check_size("tiny-nn.width", self.width)
        _check_std("tiny-nn.embedding_std", self.embedding_std)
        check_size("tiny-nn.dropout", self.dropout, least=0, below=1)

    def build(self, **start: Unpack[Start]) -> TinyNN:
        """Build the model, one replica a seed, with logits for all tokens.

        Arguments are those of :meth:`ModelConfig.build`; ``candidates`` have no effect.
        """
        model: TinyNN = build_model("tiny-nn", self, **start)
        return model


class Node2VecConfig(Config, tag_field="kind", tag="node2vec"):
    """Settings of a :class:`Node2Vec` (Geometric Memory §4).

    Attributes:
        width: Width ``D``; 100 in the paper, more than any of its tiny graphs has
            nodes.
        tied: Whether a node has the same vector as input and as output. Untied models
            zigzag along negative eigendirections (§4.4, Fig. 9).
        init: Initial scale of the vectors; standard normal in the paper.
    """

    width: int = 100
    tied: bool = True
    init: Init = Init(std=1.0)

    def __post_init__(self) -> None:
        check_size("node2vec.width", self.width)

    def build(self, **start: Unpack[Start]) -> Node2Vec:
        """Build the model, one replica a seed, with logits for all tokens.

        Arguments are those of :meth:`ModelConfig.build`; ``candidates`` have no effect.
        """
        model: Node2Vec = build_model("node2vec", self, **start)
        return model


class MambaConfig(Config, tag_field="kind", tag="mamba"):
    """Settings of a :class:`Mamba`.

    Sizes are those of Geometric Memory (B.3), and blocks are those of the paper of
    Mamba. What the code of Geometric Memory has instead is ``residual=False,
    norm="layer", final_norm=False, convolution="uniform", first_steps="equal"``.

    Attributes:
        layers: Number ``L`` of blocks.
        width: Width ``D`` of the residual stream.
        state: Size ``N`` of the state of each channel.
        kernel: Number of positions that the convolution sees.
        expand: Inner width as a multiple of the width.
        rank: Rank of the map to the step sizes ``Δ``; by default a sixteenth of the
            width, rounded up.
        tied: Whether the head is the token embedding.
        residual: Whether blocks add to their input.
        norm: What normalises the input of a block: ``rms``, by its root mean square, or
            ``layer``.
        final_norm: Whether the last block's state is normalised before the head.
        convolution: How the short convolution starts: ``init``, as matrices do;
            ``uniform``, weights and biases within ``±1/√kernel``, PyTorch's own start.
        first_steps: Step sizes ``Δ`` at the start: ``spread`` from .001 to .1, or
            ``equal``, all .69, which is what biases of 0 give.
        init: Initial scale of matrices; ``A`` and ``D`` start as in the paper of Mamba.
    """

    later = {
        "norm": "rms",
        "final_norm": True,
        "convolution": "init",
        "first_steps": "spread",
    }
    newer = ("norm", "final_norm", "convolution", "first_steps")

    layers: int = 12
    width: int = 384
    state: int = 16
    kernel: int = 4
    expand: int = 2
    rank: int | None = None
    tied: bool = True
    residual: bool = True
    norm: Literal["rms", "layer"] = "rms"
    final_norm: bool = True
    convolution: Literal["init", "uniform"] = "init"
    first_steps: Literal["spread", "equal"] = "spread"
    init: Init = Init()

    def __post_init__(self) -> None:
        for name in ("layers", "width", "state", "kernel", "expand", "steps_rank"):
            check_size(f"mamba.{name}", getattr(self, name))

    @property
    def steps_rank(self) -> int:
        """Rank of the map to the step sizes ``Δ``."""
        return math.ceil(self.width / 16) if self.rank is None else self.rank

    def build(self, **start: Unpack[Start]) -> Mamba:
        """Build the model, one replica a seed, with logits for all tokens.

        Arguments are those of :meth:`ModelConfig.build`; ``candidates`` have no effect.
        """
        model: Mamba = build_model("mamba", self, **start)
        return model


class DeepLinearConfig(Config, tag_field="kind", tag="deep-linear"):
    """Settings of a :class:`DeepLinear` (Feature Resemblance §7).

    Attributes:
        width: Width ``D``; at least the number of tokens, whose inputs are orthonormal.
        layers: Number ``L`` of square layers, at least 1; the readout is one more.
        readout: Whether a matrix ``A`` of its own gives the logits; it is trained as
            ``readout.weight``. Without it the first ``K`` coordinates of the last layer
            do.
        init: Initial scale of every matrix; by default entries from ``N(0, 1/D)``.
    """

    width: int = 1024
    layers: int = 8
    readout: bool = True
    init: Init = Init(gamma=0.5)

    def __post_init__(self) -> None:
        check_size("deep-linear.width", self.width)
        check_size("deep-linear.layers", self.layers)

    def build(self, **start: Unpack[Start]) -> DeepLinear:
        """Build the model, one replica a seed, with logits for ``candidates`` (the labels).

        Arguments are those of :meth:`ModelConfig.build`.

        Raises:
            ConfigError: The width is too small for unit vectors of all tokens.
        """
        model: DeepLinear = build_model("deep-linear", self, **start)
        return model


class OneLayerConfig(Config, tag_field="kind", tag="one-layer"):
    """Settings of a :class:`OneLayer`; the defaults are those of Feature Resemblance N.1.

    Attributes:
        width: Width ``D`` of embeddings and values.
        hidden: Width ``m`` of the MLP: the number of vectors ``w_{k,r}`` for each label
            ``k``.
        kappa: ``κ0``, the fixed scale of the logits.
        mlp: ``linear``: equation 3. ``relu``: appendix A. ``folded``: the linear one
            with its ``m`` vectors a label replaced by the one direction ``u = Σ_r w_r /
            √m`` that the logits see, ``F_k = (κ0 / √m) ⟨u_k, h⟩``. Under gradient
            descent, with the same rate, momentum and weight decay, it is the linear
            model exactly, as the other directions do not matter, and it is about ``m``
            times smaller. Under Adam the two models differ.
        embedding: ``orthonormal``: token ``i`` is the ``i``-th unit vector. Nothing is
            lost by that, since the distribution of the initial matrices is the same in
            every basis. ``gaussian``: fixed draws from ``N(0, 1/D)``, nearly
            orthonormal, for more than ``D`` tokens.
        init: Initial scale ``σ0`` of ``W_KQ``, ``W_V`` and ``w``.
    """

    width: int = 512
    hidden: int = 10
    kappa: float = 300.0
    mlp: Literal["linear", "relu", "folded"] = "linear"
    embedding: Literal["orthonormal", "gaussian"] = "orthonormal"
    init: Init = Init(std=1e-3)

    def __post_init__(self) -> None:
        check_size("one-layer.width", self.width)
        check_size("one-layer.hidden", self.hidden)
        check_size("one-layer.kappa", self.kappa, above=0, most=MAX_SCALE)

    def build(self, **start: Unpack[Start]) -> OneLayer:
        """Build the model, one replica a seed, with logits for ``candidates`` (the labels).

        Arguments are those of :meth:`ModelConfig.build`.

        Raises:
            ConfigError: The width is too small for unit vectors of all tokens.
        """
        # Embeddings have length 1, whatever the initial scale of what is trained.
        model: OneLayer = build_model(
            "one-layer", self, embedding_std=self.width**-0.5, **start
        )
        return model

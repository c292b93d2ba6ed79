"""Configs of the architectures: what is chosen of each, apart from the code that computes with it.

Nothing here imports torch; a config loads its architecture when it builds a model. Its initial
scale, ``init``, may differ between replicas.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Literal, Unpack

from inweights.config import Config, check_size
from inweights.errors import ConfigError
from inweights.models.model_config import Init, ModelConfig, Start, built

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
MOST_SCALE = sys.float_info.max


def _check_std(name: str, std: float | None) -> None:
    if std is not None and not 0 < std <= MOST_SCALE:
        raise ConfigError(f"{name} must be above 0, got {std}; leave it out for init")


class GPTConfig(Config, tag_field="kind", tag="gpt"):
    """Architecture of a :class:`GPT`.

    Attributes:
        layers: Number of blocks.
        loops: How often a sequence passes through all of them, with the same weights.
        inject: Whether the embedding is added again before each further pass.
        memory: Slots of a key-value memory that every block reads, the same for all; 0 for none.
        width: Width ``D`` of the residual stream.
        heads: Attention heads; they divide the width.
        positions: Learned, sinusoidal, or no position embeddings.
        context: Number of positions; longer inputs are refused.
        tied: Whether the head is the token embedding.
        attention: ``causal``; ``uniform`` gives every visible position the same weight; ``none``
            lets no position see another.
        residual: Whether blocks add to their input.
        norm: Whether there is layer normalisation.
        embedding_std: Initial scale of the token embeddings where it is not :attr:`init`'s, such
            as 1 for PyTorch's own.
        position_std: The same of learned position embeddings.
        dropout: Share of what attention and MLP add to the stream that is dropped while training.
    """

    later = {
        "embedding_std": None,
        "position_std": None,
        "dropout": 0.0,
        "loops": 1,
        "inject": False,
        "memory": 0,
    }
    newer = ("loops", "inject", "memory")

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
        """Build the model, one replica a seed. The head covers all tokens, not ``candidates``."""
        from inweights.models.gpt import GPT

        return built(GPT, self, **start)


class EmbMLPConfig(Config, tag_field="kind", tag="emb-mlp"):
    """Architecture of an :class:`EmbMLP`.

    Attributes:
        width: Embedding width ``D``. At least the rank of the problem, or the norm is not free.
    """

    width: int = 64
    init: Init = Init(std=0.01)

    def __post_init__(self) -> None:
        check_size("emb-mlp.width", self.width)

    def build(self, **start: Unpack[Start]) -> EmbMLP:
        """Build the model, one replica a seed, with logits for ``candidates`` (``V_out``)."""
        from inweights.models.emb_mlp import EmbMLP

        return built(EmbMLP, self, **start)


class TinyNNConfig(Config, tag_field="kind", tag="tiny-nn"):
    """Architecture of a :class:`TinyNN`.

    Attributes:
        width: Width ``D``. The paper takes 32 for the star and the grid, 16 for the irregular
            graph, and 512 for the cycle and wherever no bottleneck shall press.
        frozen: Whether the embeddings stay as they were drawn: associative storage, with nothing
            trained but ``W`` and ``b``.
        embedding_std: Initial scale of the embeddings where it is not :attr:`init`'s, such as 1
            for PyTorch's own (Fig. 28).
        dropout: Share of the middle layer's entries that is dropped while training (Fig. 31).
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
        """Build the model, one replica a seed. The head covers all tokens, not ``candidates``."""
        from inweights.models.tiny_nn import TinyNN

        return built(TinyNN, self, **start)


class Node2VecConfig(Config, tag_field="kind", tag="node2vec"):
    """Architecture of a :class:`Node2Vec`.

    Attributes:
        width: Width ``D``; 100 in the paper, more than any of its tiny graphs has nodes.
        tied: Whether a node that is predicted has the vector of a node that is given. Untied
            models zigzag along negative eigendirections (§4.4, Fig. 9).
        init: Initial scale; standard normal in the paper.
    """

    width: int = 100
    tied: bool = True
    init: Init = Init(std=1.0)

    def __post_init__(self) -> None:
        check_size("node2vec.width", self.width)

    def build(self, **start: Unpack[Start]) -> Node2Vec:
        """Build the model, one replica a seed. The head covers all tokens, not ``candidates``."""
        from inweights.models.node2vec import Node2Vec

        return built(Node2Vec, self, **start)


class MambaConfig(Config, tag_field="kind", tag="mamba"):
    """Architecture of a :class:`Mamba`; the defaults are those of Geometric Memory (B.3).

    Attributes:
        layers: Number of blocks.
        width: Width ``D`` of the residual stream.
        state: Size ``N`` of the state of each channel.
        kernel: Positions that the convolution sees.
        expand: Inner width over width.
        rank: Rank of the map to the steps; a sixteenth of the width if left out.
        tied: Whether the head is the token embedding.
        residual: Whether blocks add to their input.
        init: Initial scale of matrices; ``A``, ``D`` and the steps start as in the paper.
    """

    layers: int = 12
    width: int = 384
    state: int = 16
    kernel: int = 4
    expand: int = 2
    rank: int | None = None
    tied: bool = True
    residual: bool = True
    init: Init = Init()

    def __post_init__(self) -> None:
        for name in ("layers", "width", "state", "kernel", "expand", "steps_rank"):
            check_size(f"mamba.{name}", getattr(self, name))

    @property
    def steps_rank(self) -> int:
        """Rank of the map to the steps."""
        return math.ceil(self.width / 16) if self.rank is None else self.rank

    def build(self, **start: Unpack[Start]) -> Mamba:
        """Build the model, one replica a seed. The head covers all tokens, not ``candidates``."""
        from inweights.models.mamba import Mamba

        return built(Mamba, self, **start)


class DeepLinearConfig(Config, tag_field="kind", tag="deep-linear"):
    """Architecture of a :class:`DeepLinear`.

    Attributes:
        width: Width ``D``; at least the number of tokens, whose inputs are orthonormal.
        layers: Number ``L`` of square layers, at least 1; the readout is one more.
        readout: Whether a matrix ``A`` of its own gives the logits; it takes part in training as
            ``readout.weight``. Without it the first ``K`` coordinates of the last layer do.
        init: Initial scale; ``N(0, 1/D)`` by default.
    """

    width: int = 1024
    layers: int = 8
    readout: bool = True
    init: Init = Init(gamma=0.5)

    def __post_init__(self) -> None:
        check_size("deep-linear.width", self.width)
        check_size("deep-linear.layers", self.layers)

    def build(self, **start: Unpack[Start]) -> DeepLinear:
        """Build the model, one replica a seed, with logits for ``candidates`` (the labels)."""
        from inweights.models.deep_linear import DeepLinear

        return built(DeepLinear, self, **start)


class OneLayerConfig(Config, tag_field="kind", tag="one-layer"):
    """Architecture of a :class:`OneLayer`; the defaults are those of appendix N.1.

    Attributes:
        width: Width ``D`` of embeddings and values.
        hidden: Width ``m`` of the MLP: vectors for each label.
        kappa: ``κ0``, the fixed scale of the logits.
        mlp: ``linear``: equation 3. ``relu``: appendix A. ``folded``: the linear one with its ``m``
            vectors a label replaced by the one direction ``u = Σ_r w_r / √m`` that the logits see,
            ``F_k = (κ0 / √m) ⟨u_k, h⟩``. Under gradient descent, with the same rate, momentum and
            weight decay, it is the linear model exactly, as the other directions do not matter,
            and it is about ``m`` times smaller. Under Adam it is another one.
        embedding: ``orthonormal``: token ``i`` is the ``i``-th unit vector, which loses nothing,
            since the start of every matrix looks alike from all sides. ``gaussian``: fixed draws
            from ``N(0, 1/D)``, nearly orthonormal, for more than ``D`` tokens.
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
        check_size("one-layer.kappa", self.kappa, above=0, most=MOST_SCALE)

    def build(self, **start: Unpack[Start]) -> OneLayer:
        """Build the model, one replica a seed, with logits for ``candidates`` (the labels)."""
        from inweights.models.one_layer import OneLayer

        # The embeddings' length is 1 whatever the initial scale of what is trained.
        return built(OneLayer, self, embedding_std=self.width**-0.5, **start)

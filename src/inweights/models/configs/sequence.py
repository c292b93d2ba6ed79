"""Configs of the architectures that read sequences: :class:`GPTConfig` and :class:`MambaConfig`.

``building.py`` builds their models, and imports an architecture only when it builds a
model of it. This module does not import torch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, Unpack

from inweights.config import Config, check_size
from inweights.errors import ConfigError
from inweights.models.building import build_model
from inweights.models.configs.initial_scale import Init, check_std
from inweights.models.configs.model_config import Start

if TYPE_CHECKING:
    from inweights.models.gpt import GPT
    from inweights.models.mamba import Mamba

Positions = Literal["learned", "sinusoidal", "none"]
Mixing = Literal["causal", "uniform", "none"]


class GPTConfig(Config, tag_field="kind", tag="gpt"):
    """Settings of a :class:`GPT`, a GPT-2 (Radford et al. 2019).

    Attributes:
        layers: Number ``L`` of blocks.
        loops: Number of passes of a sequence through all blocks, with the same weights.
        inject: Whether the embedding is added to the state before each pass after the
            first.
        memory: Number of slots of a trained key-value memory, which all blocks share
            and which is read after every block; 0 for no memory.
        width: Width ``D`` of the residual stream.
        heads: Number ``H`` of attention heads; it must divide the width.
        positions: Position embeddings: ``learned`` (a table), ``sinusoidal`` (fixed
            sines and cosines) or ``none``.
        context: Maximum number of positions; longer inputs raise an error, even without
            position embeddings.
        tied: Whether the head uses the token embeddings as its weight; otherwise it has
            a separate matrix.
        attention: ``causal`` (softmax of queries and keys), ``uniform`` (the same
            weight for every visible position) or ``none`` (a position sees only itself,
            and blocks have no attention).
        residual: Whether blocks add their output to their input.
        norm: Whether layer normalisation precedes attention, MLP, memory and head.
        embedding_std: Initial standard deviation of the token embeddings, such as 1,
            which is PyTorch's default. If ``None``, :attr:`init` determines it.
        position_std: Initial standard deviation of learned position embeddings;
            if ``None``, :attr:`init` determines it.
        depth_scaled: Whether the last matrices of attention and MLP, which write into
            the residual stream, are initialised ``√(2L)`` times smaller than
            :attr:`init`, as in GPT-2.
        dropout: Probability with which entries of the outputs of attention and MLP are
            set to 0 during training.
        init: Initial scale of every weight matrix; biases start at 0.

    Raises:
        ConfigError: A value has the wrong type; a size is below 1 (``memory``: below 0)
            or above 65,536; the number of heads does not divide the width; a standard
            deviation is not above 0; ``dropout`` is not at least 0 and below 1;
            ``inject`` is set with one loop; or ``position_std`` is set without learned
            positions.
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
            raise ConfigError(
                "gpt.inject has no effect when gpt.loops = 1; leave it out"
            )
        if self.width % self.heads:
            raise ConfigError(
                f"gpt.heads must divide gpt.width: {self.heads} does not divide {self.width}"
            )
        check_std("gpt.embedding_std", self.embedding_std)
        check_std("gpt.position_std", self.position_std)
        if self.position_std is not None and self.positions != "learned":
            raise ConfigError(
                f"gpt.position_std has no effect when positions = '{self.positions}'; leave "
                "it out"
            )
        check_size("gpt.dropout", self.dropout, least=0, below=1)

    def build(self, **start: Unpack[Start]) -> GPT:
        """Build a :class:`GPT` with one replica per seed and logits for all tokens.

        Args:
            **start: Arguments of :meth:`ModelConfig.build`: ``vocabulary`` (number of
                tokens), ``seeds`` (root seeds, or their number), ``inits`` (initial
                scale of each replica; by default :attr:`init`) and ``candidates``
                (ignored).

        Raises:
            ConfigError: There are no seeds, or a seed is not an integer from 0 to
                ``2**63 - 1``; the numbers of initial scales and of seeds differ; or
                ``vocabulary`` is below 1.
        """
        model: GPT = build_model("gpt", self, **start)
        return model


class MambaConfig(Config, tag_field="kind", tag="mamba"):
    """Settings of a :class:`Mamba` (Gu and Dao 2023).

    The default sizes are those of Geometric Memory (B.3), and the blocks are those of
    the Mamba paper. The code of Geometric Memory corresponds to ``residual=False,
    norm="layer", final_norm=False, convolution="uniform", first_steps="equal"``.

    Attributes:
        layers: Number ``L`` of blocks.
        width: Width ``D`` of the residual stream.
        state: Size ``N`` of the state of each channel.
        kernel: Number of positions that the convolution sees, up to the current one.
        expand: Inner width of a block, as a multiple of the width.
        rank: Rank of the map to the step sizes ``Δ``; ``None`` (the default) for a
            sixteenth of the width, rounded up.
        tied: Whether the head uses the token embeddings as its weight; otherwise it has
            a separate matrix.
        residual: Whether blocks add their output to their input.
        norm: Normalisation of the input of a block: ``rms`` (division by the root mean
            square) or ``layer`` (layer normalisation).
        final_norm: Whether the last block's state is normalised before the head.
        convolution: Initial values of the short convolution: ``init`` (weights drawn
            like matrices, biases 0) or ``uniform`` (weights and biases within
            ``±1/√kernel``, as in PyTorch).
        first_steps: Initial step sizes ``Δ`` of the channels: ``spread`` (from 0.001 to
            0.1, evenly on a logarithmic scale) or ``equal`` (0.69 for all, which
            corresponds to biases of 0).
        init: Initial scale of matrices. As in the Mamba paper, the decay rates of the
            recurrence start at 1 to ``N``, and its skip connection starts at 1.

    Raises:
        ConfigError: A value has the wrong type, or a size is below 1 or above 65,536.
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
        """Rank of the map to the step sizes ``Δ``; by default ``width / 16``, rounded up."""
        return math.ceil(self.width / 16) if self.rank is None else self.rank

    def build(self, **start: Unpack[Start]) -> Mamba:
        """Build a :class:`Mamba` with one replica per seed and logits for all tokens.

        Args:
            **start: Arguments of :meth:`ModelConfig.build`: ``vocabulary`` (number of
                tokens), ``seeds`` (root seeds, or their number), ``inits`` (initial
                scale of each replica; by default :attr:`init`) and ``candidates``
                (ignored).

        Raises:
            ConfigError: There are no seeds, or a seed is not an integer from 0 to
                ``2**63 - 1``; the numbers of initial scales and of seeds differ; or
                ``vocabulary`` is below 1.
        """
        model: Mamba = build_model("mamba", self, **start)
        return model

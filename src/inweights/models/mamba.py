"""Mamba: a selective state space model in plain PyTorch (Gu and Dao, 2023, arXiv:2312.00752).

A block maps its normalised input to a stream and a gate. It mixes the stream over time
with a short causal convolution and with a linear recurrence, of which the step size,
the input and the output depend on the token:

    ``h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t u_t``,   ``y_t = C_t h_t + D u_t``,

and returns ``(y ⊙ silu(gate)) W_out``. There is no compiled kernel: sequences here have
at most tens of tokens, for which a loop over positions is fastest on a CPU. A
:class:`~inweights.models.MambaConfig` builds a :class:`Mamba`. Shapes: ``R`` replicas,
``B`` sequences, ``T`` positions, ``S`` packed tokens, ``D`` width, ``E`` inner width,
``N`` state, ``K`` kernel.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from inweights.models.base import Model
from inweights.models.layers import (
    Draw,
    Embedding,
    Layer,
    LayerNorm,
    Linear,
    in_whole_blocks,
)
from inweights.models.packing import Packed
from inweights.worlds.arrays import Float

if TYPE_CHECKING:
    from inweights.models.configs import MambaConfig

#: Range of the initial step sizes Δ, which are evenly spaced over the channels on a
#: logarithmic scale.
STEPS = (1e-3, 1e-1)


class Mamba(Model):
    """Mamba that computes next-token logits for ``R`` replicas in the same forward pass.

    It needs no position embeddings, since the recurrence depends on token order. Hidden
    states are ``embedding``, ``block.i`` and ``final``. :meth:`MambaConfig.build`
    creates a model with initial values; the constructor leaves them undefined.

    Args:
        config: Settings of the architecture.
        vocabulary: Number of tokens ``V``.
        replicas: Number of replicas ``R``.

    Raises:
        ConfigError: The number of replicas or tokens is below 1.

    Example:
        >>> from inweights.models import MambaConfig
        >>> model = MambaConfig(layers=2, width=16).build(vocabulary=9, seeds=[0, 1, 2])
        >>> tuple(model(torch.tensor([[1, 2], [3, 4]])).shape)
        (3, 2, 2, 9)
    """

    def __init__(self, config: MambaConfig, *, vocabulary: int, replicas: int) -> None:
        """Create the uninitialised layers.

        :meth:`MambaConfig.build` creates and initialises a model.

        Args:
            config: Settings of the architecture.
            vocabulary: Number of tokens ``V``.
            replicas: Number of replicas ``R``.

        Raises:
            ConfigError: The number of replicas or tokens is below 1.
        """
        super().__init__(replicas, vocabulary)
        self.config = config
        self.tokens = Embedding(replicas, vocabulary, config.width)
        blocks = [Block(config, replicas) for _ in range(config.layers)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = _norm(config, replicas) if config.final_norm else nn.Identity()
        self.head = (
            None
            if config.tied
            else Linear(replicas, config.width, vocabulary, bias=False)
        )

    @property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the hidden states: ``embedding``, ``block.0``, ``block.1``, ..., ``final``."""
        return ("embedding", *(f"block.{i}" for i in range(len(self.blocks))), "final")

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        """Compute every hidden state of a batch, ``[R, S, D]``, keyed by layer name.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.

        Raises:
            DataError: A token id is outside the vocabulary (checked only on the CPU).
        """
        x = self.hook("embedding", self.tokens(batch.tokens))
        states = {"embedding": x}
        for i, block in enumerate(self.blocks):
            x = self.hook(f"block.{i}", block(x, batch.shapes))
            states[f"block.{i}"] = x
        states["final"] = self.hook("final", self.norm(x))
        return states

    def final_norm(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n D"]:
        """Return a state after the norm that precedes the head, ``[R, n, D]``.

        The state is unchanged if the config sets ``final_norm=False``.

        Args:
            state: State of any layer, ``[R, n, D]`` (``R`` replicas, ``n`` positions,
                width ``D``).
        """
        return self.norm(state)


class RMSNorm(Layer):
    """Root-mean-square normalisation over the width (Zhang and Sennrich 2019), with ε = 1e-5.

    Args:
        replicas: Number of replicas ``R``, each with its own gain, which starts at 1.
        width: Width ``D``.
    """

    def __init__(self, replicas: int, width: int) -> None:
        """Create the gain; :meth:`initialise` sets it to 1.

        Args:
            replicas: Number of replicas ``R``.
            width: Width ``D``.
        """
        super().__init__()
        self.weight = nn.Parameter(torch.empty(replicas, width))

    def initialise(self, draw: Draw) -> None:
        """Set the gain to 1. The argument ``draw`` is not used."""
        del draw  # the initial gain does not depend on the initial scale
        nn.init.ones_(self.weight)

    def forward(self, x: Float[Tensor, "R S D"]) -> Float[Tensor, "R S D"]:
        """Return states divided by their root mean square and multiplied by the gain.

        Args:
            x: States, ``[R, S, D]`` (``R`` replicas, ``S`` tokens, width ``D``).
        """
        return F.rms_norm(x, x.shape[-1:], eps=1e-5) * self.weight.unsqueeze(1)


def _norm(config: MambaConfig, replicas: int) -> RMSNorm | LayerNorm:
    kind = RMSNorm if config.norm == "rms" else LayerNorm
    return kind(replicas, config.width)


class Block(nn.Module):
    """Mamba block: a norm, a projection to stream and gate, a mixer, and an output projection.

    Args:
        config: Settings of the Mamba.
        replicas: Number of replicas ``R``.
    """

    def __init__(self, config: MambaConfig, replicas: int) -> None:
        """Create the uninitialised layers for a Mamba's config and a number of replicas."""
        super().__init__()
        inner = config.expand * config.width
        self.residual = config.residual
        self.norm = _norm(config, replicas)
        self.enter = Linear(replicas, config.width, 2 * inner, bias=False)
        self.mix = Mixer(config, replicas)
        self.leave = Linear(replicas, inner, config.width, bias=False)

    def forward(
        self, x: Float[Tensor, "R S D"], shapes: tuple[tuple[int, int], ...]
    ) -> Float[Tensor, "R S D"]:
        """Apply the block to states, and return the states after it, ``[R, S, D]``.

        Args:
            x: States of all ``S`` packed tokens, ``[R, S, D]`` (``R`` replicas, width
                ``D``).
            shapes: Number ``B`` and length ``T`` of the sequences of each group along
                ``S``, as in :class:`Packed`.
        """
        stream, gate = self.enter(self.norm(x)).chunk(2, dim=-1)
        groups = stream.split([b * t for b, t in shapes], dim=1)
        mixed = []
        for group, shape in zip(groups, shapes, strict=True):
            along = self.mix(group.unflatten(1, shape))
            mixed.append(along.flatten(1, 2))
        update = self.leave(torch.cat(mixed, dim=1) * in_whole_blocks(F.silu, gate))
        return x + update if self.residual else update


class Mixer(Layer):
    """The causal convolution and the selective recurrence of one block of a Mamba.

    Args:
        config: Settings of the Mamba.
        replicas: Number of replicas ``R``.
    """

    def __init__(self, config: MambaConfig, replicas: int) -> None:
        """Create the uninitialised parameters for a Mamba's config and a number of replicas."""
        super().__init__()
        inner = config.expand * config.width
        self.config = config
        self.state = config.state
        self.rank = config.steps_rank
        self.convolution = nn.Parameter(torch.empty(replicas, inner, config.kernel))
        self.shift = nn.Parameter(torch.empty(replicas, inner))
        self.select = Linear(replicas, inner, self.rank + 2 * self.state, bias=False)
        self.steps = Linear(replicas, self.rank, inner)
        self.log_decay = nn.Parameter(torch.empty(replicas, inner, self.state))
        self.skip = nn.Parameter(torch.empty(replicas, inner))

    def initialise(self, draw: Draw) -> None:
        """Draw the convolution's weights as the config specifies, and set all other parameters.

        The skip connection starts at 1 and the decay rates at 1 to ``N``. The two
        linear maps are separate layers, which draw their own values.

        Args:
            draw: Function that fills a parameter; see
                :class:`~inweights.models.layers.Draw`.
        """
        kernel = self.config.kernel
        if self.config.convolution == "init":
            draw("convolution", self.convolution, kernel)
            nn.init.zeros_(self.shift)
        else:
            started = {"convolution": self.convolution, "shift": self.shift}
            for name, parameter in started.items():
                # `draw` only draws normal numbers; they are then made uniform.
                draw(name, parameter, kernel, std=1.0)
                _spread_evenly(parameter, bound=kernel**-0.5)
        nn.init.ones_(self.skip)
        # S4D-real: A = -1, …, -N in every channel.
        self.log_decay.copy_(
            torch.arange(1, self.state + 1).log().expand_as(self.log_decay)
        )

    def forward(self, u: Float[Tensor, "R B T E"]) -> Float[Tensor, "R B T E"]:
        """Compute the causal convolution and the recurrence of a stream, ``[R, B, T, E]``.

        Args:
            u: The stream before the convolution, ``[R, B, T, E]`` for ``E`` channels.
        """
        replicas, batch, length, inner = u.shape
        u = in_whole_blocks(F.silu, self._convolve(u))
        flat = u.flatten(1, 2)
        sizes = [self.rank, self.state, self.state]
        rank, b, c = self.select(flat).split(sizes, dim=-1)
        raw = self.steps(rank) + self._first_steps(inner, u)
        steps = in_whole_blocks(F.softplus, raw)
        steps = steps.unflatten(1, (batch, length))
        b, c = (part.unflatten(1, (batch, length)).unsqueeze(3) for part in (b, c))
        decay = -self.log_decay.exp().view(replicas, 1, inner, self.state)
        h: Tensor | None = None  # None stands for the initial state 0
        rows = []
        for t in range(length):
            step = steps[:, :, t].unsqueeze(-1)
            entering = step * b[:, :, t] * u[:, :, t].unsqueeze(-1)
            h = entering if h is None else (step * decay).exp() * h + entering
            rows.append((h * c[:, :, t]).sum(-1))
        return torch.stack(rows, dim=2) + u * self.skip.view(replicas, 1, 1, inner)

    def _convolve(self, u: Tensor) -> Tensor:
        """Return the causal convolution of each channel, as a sum of shifted streams."""
        kernel = self.convolution.shape[-1]
        length = u.shape[2]
        weight = self.convolution.unsqueeze(1).unsqueeze(1)
        total = u * weight[..., -1]
        for back in range(1, min(kernel, length)):
            delayed = F.pad(u[:, :, :-back], (0, 0, back, 0))
            total = total + delayed * weight[..., kernel - 1 - back]
        return total + self.shift.unsqueeze(1).unsqueeze(1)

    def _first_steps(self, inner: int, like: Tensor) -> Tensor | float:
        """Return the inverse softplus of the initial step sizes, ``[E]``; 0 if all are equal."""
        if self.config.first_steps == "equal":
            return 0.0
        low, high = map(math.log, STEPS)
        logs = torch.linspace(low, high, inner, device=like.device, dtype=like.dtype)
        first = logs.exp()
        # Inverse softplus, x + log(1 − exp(−x)), in a form that is precise for small x.
        return first + torch.log(-torch.expm1(-first))


def _spread_evenly(normal: nn.Parameter, *, bound: float) -> None:
    """Convert standard normal numbers to uniform ones within ``±bound``, in place."""
    # For a standard normal number x, erf(x / √2) is uniform between -1 and 1.
    normal.div_(math.sqrt(2)).erf_().mul_(bound)

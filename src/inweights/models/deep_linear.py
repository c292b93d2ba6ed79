"""Deep linear networks, trained layer by layer (Feature Resemblance §7, appendices C and M).

``F = A W_L ⋯ W_1 x`` with square layers and a readout ``A``. Equation 7 is missing from
the text of our copy of the paper. The readout is our interpretation of how ``D``
coordinates are mapped to labels; with ``readout = False``, the first ``K`` coordinates
of the deepest layer are the logits. Shapes: ``R`` replicas, ``S`` packed tokens, ``D``
width, ``V`` tokens, ``K`` candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor, nn

from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.models.layers import Linear, check_ids, rows_of
from inweights.models.packing import Packed, running_sums
from inweights.worlds.arrays import Float

if TYPE_CHECKING:
    from inweights.models.configs import DeepLinearConfig


class DeepLinear(Model):
    """Network of ``L`` square linear layers that maps the sum of a prompt's unit vectors to logits.

    Token ``i`` is the ``i``-th unit vector, so the first layer only looks up
    the weight vectors of the prompt's tokens and adds them. Hidden states are
    ``layer1`` (``W_1 x``) to ``layerL``. Layers are counted from 1, and parameters from
    0: the weight of layer ``i`` is the parameter ``layers.{i-1}.weight``. Use
    :meth:`DeepLinearConfig.build` to create a model with initial values; the
    constructor leaves the parameters uninitialised.

    Args:
        config: Settings of the architecture.
        vocabulary: Number of tokens ``V``.
        replicas: Number of replicas ``R``.
        candidates: Ids of the tokens that the head covers; by default all tokens.

    Raises:
        ConfigError: The width is smaller than the number of tokens; the number of
            replicas or tokens is below 1; or a candidate is not a token or occurs
            twice.

    Example:
        >>> import torch
        >>> from inweights.models import DeepLinearConfig
        >>> config = DeepLinearConfig(width=16, layers=3)
        >>> model = config.build(vocabulary=9, seeds=[0, 1], candidates=[4, 5])
        >>> tuple(model(torch.tensor([[1]])).shape), model.layer_names
        ((2, 1, 1, 2), ('layer1', 'layer2', 'layer3'))
        >>> [name for name, _ in model.named_parameters()][:2]
        ['layers.0.weight', 'layers.1.weight']
    """

    def __init__(
        self,
        config: DeepLinearConfig,
        *,
        vocabulary: int,
        replicas: int,
        candidates: Sequence[int] | None = None,
    ) -> None:
        """Create the uninitialised layers.

        :meth:`DeepLinearConfig.build` creates and initialises a model.

        Args:
            config: Settings of the architecture.
            vocabulary: Number of tokens ``V``.
            replicas: Number of replicas ``R``.
            candidates: Ids of the tokens that the head covers; by default all tokens.

        Raises:
            ConfigError: The width is smaller than the number of tokens; the number of
                replicas or tokens is below 1; or a candidate is not a token or occurs
                twice.
        """
        super().__init__(replicas, vocabulary, candidates)
        width = config.width
        labels = len(self.candidates)
        if vocabulary > width or (labels > width and not config.readout):
            raise ConfigError(
                f"deep-linear.width: {vocabulary} tokens and {labels} labels do not fit a width of "
                f"{width}, since every token is a different unit vector; increase the width"
            )
        self.config = config
        square = [
            Linear(replicas, width, width, bias=False) for _ in range(config.layers)
        ]
        self.layers = nn.ModuleList(square)
        self.readout: Linear | None = None
        if config.readout:
            self.readout = Linear(replicas, width, labels, bias=False)

    @property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the hidden states, from shallow to deep: ``layer1`` to ``layerL``."""
        return tuple(f"layer{i + 1}" for i in range(self.config.layers))

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        """Compute the states ``layer1`` to ``layerL`` of a batch, ``[R, S, D]``, keyed by name.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.

        Raises:
            DataError: A token id is outside the vocabulary (checked only on the CPU).
        """
        x = self.hook("layer1", self._first(batch))
        states = {"layer1": x}
        others = list(self.layers)[1:]
        for name, layer in zip(self.layer_names[1:], others, strict=True):
            x = self.hook(name, layer(x))
            states[name] = x
        return states

    def unembed(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n K"]:
        """Return the logits ``[R, n, K]`` of the deepest state ``[R, n, D]``.

        The logits are the product of the state and the readout or, without a readout,
        the first ``K`` coordinates of the state.

        Args:
            state: The deepest state, ``[R, n, D]`` (``R`` replicas, ``n`` positions,
                width ``D``).
        """
        if self.readout is None:
            return state[..., : len(self.candidates)]
        logits: Tensor = self.readout(state)
        return logits

    def templates(self) -> Float[Tensor, "R V K"]:
        """Compute the logits that each token contributes, ``(A W_L ⋯ W_1)ᵀ``, ``[R, V, K]``.

        There are ``R`` replicas, ``V`` tokens and ``K`` candidates. ``W_1`` to ``W_L``
        are the layers, and ``A`` is the readout; without a readout, ``A`` selects the
        first ``K`` coordinates.
        """
        first = self.layers[0]
        assert isinstance(first, Linear)
        product: Tensor = first.weight[:, : self.vocabulary]
        # Only columns of tokens: the other columns of the first layer are never used as
        # inputs.
        for layer in list(self.layers)[1:]:
            product = layer(product)
        return self.unembed(product)

    def _first(self, batch: Packed) -> Tensor:
        """Return ``W_1 x`` at every position, ``[R, S, D]``: a running sum of rows of ``W_1``."""
        first = self.layers[0]
        assert isinstance(first, Linear)
        check_ids(batch.tokens, self.vocabulary)
        return running_sums(rows_of(first.weight, batch.tokens), batch.shapes)

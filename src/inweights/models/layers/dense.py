"""Dense layers: affine maps, layer normalisation and tables of vectors.

Architectures consist of :class:`Linear`, :class:`LayerNorm` and :class:`Embedding`,
whose parameters start with the replica axis. They are uninitialised until
:func:`~inweights.models.layers.initialise` draws their values. Shapes: ``R`` replicas,
``S`` packed tokens, ``D`` width, ``F`` output width, ``V`` tokens, ``N`` rows of a
table.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from inweights.errors import ConfigError, DataError
from inweights.models.layers.fused import layer_norm
from inweights.models.layers.layer import Draw, Layer
from inweights.support.border import guarded
from inweights.worlds.arrays import Float, Int


def _check_sizes(**sizes: int) -> None:
    """Raise an error for a negative size of a layer."""
    for name, size in sizes.items():
        if size < 0:
            raise ConfigError(f"a layer's {name} must be at least 0, got {size}")


class Linear(Layer):
    """Affine map with separate weights for each replica, ``y_r = x_r W_r + b_r``.

    Args:
        replicas: Number of replicas ``R``.
        inputs: Input width ``D``.
        outputs: Output width ``F``.
        bias: Whether there is a bias ``b``, which :meth:`initialise` sets to 0.
        shrink: Divisor of the initial ``W``, applied after :meth:`initialise` draws it.

    Raises:
        ConfigError: A size is negative.

    Example:
        >>> tuple(Linear(3, 4, 5).weight.shape)
        (3, 4, 5)
    """

    @guarded
    def __init__(
        self,
        replicas: int,
        inputs: int,
        outputs: int,
        *,
        bias: bool = True,
        shrink: float = 1.0,
    ) -> None:
        """Create the uninitialised weight and bias.

        Args:
            replicas: Number of replicas ``R``.
            inputs: Input width ``D``.
            outputs: Output width ``F``.
            bias: Whether there is a bias.
            shrink: Factor by which the initial weight is divided after it is drawn.

        Raises:
            ConfigError: A size is negative.
        """
        super().__init__()
        _check_sizes(replicas=replicas, inputs=inputs, outputs=outputs)
        self.shrink = shrink
        self.weight = nn.Parameter(torch.empty(replicas, inputs, outputs))
        self.bias = nn.Parameter(torch.empty(replicas, outputs)) if bias else None

    def initialise(self, draw: Draw) -> None:
        """Draw the weight from a normal distribution, with the input width as ``fan_in``.

        The weight is then divided by the layer's ``shrink``, and the bias is set to 0.

        Args:
            draw: Function that fills a parameter; see
                :class:`~inweights.models.layers.Draw`.
        """
        draw("weight", self.weight, self.weight.shape[1])
        self.weight.div_(self.shrink)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Float[Tensor, "R S D"]) -> Float[Tensor, "R S F"]:
        """Apply the affine map to states, and return the result, ``[R, S, F]``.

        Args:
            x: States, ``[R, S, D]`` (``R`` replicas, ``S`` tokens, width ``D``).
        """
        if self.weight.shape[1] == 1 and self.bias is not None:
            # With a width of 1, a gradient of baddbmm would be a matrix-vector product,
            # which linear algebra libraries round differently for one replica than for
            # several.
            return torch.addcmul(self.bias.unsqueeze(1), x, self.weight)
        if self.bias is None:
            return torch.bmm(x, self.weight)
        return torch.baddbmm(self.bias.unsqueeze(1), x, self.weight)


class LayerNorm(Layer):
    """Layer normalisation over the width (Ba et al. 2016), with ε = 1e-5.

    :meth:`initialise` sets the gain to 1 and the bias to 0.

    Args:
        replicas: Number of replicas ``R``, each with its own gain and bias.
        width: Width ``D``.

    Raises:
        ConfigError: A size is negative.
    """

    @guarded
    def __init__(self, replicas: int, width: int) -> None:
        """Create gain and bias, ``[R, D]`` each; :meth:`initialise` sets them to 1 and 0.

        Args:
            replicas: Number of replicas ``R``.
            width: Width ``D``.

        Raises:
            ConfigError: A size is negative.
        """
        super().__init__()
        _check_sizes(replicas=replicas, width=width)
        self.weight = nn.Parameter(torch.empty(replicas, width))
        self.bias = nn.Parameter(torch.empty(replicas, width))

    def initialise(self, draw: Draw) -> None:
        """Set the gain to 1 and the bias to 0. The argument ``draw`` is not used."""
        del draw  # the initial gain and bias do not depend on the initial scale
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: Float[Tensor, "R S D"]) -> Float[Tensor, "R S D"]:
        """Return states ``[R, S, D]`` normalised over the width, with gain and bias applied.

        Args:
            x: States, ``[R, S, D]`` (``R`` replicas, ``S`` tokens, width ``D``).
        """
        return layer_norm(x, self.weight, self.bias)


class Embedding(Layer):
    """Table with one vector for each token and replica.

    Args:
        replicas: Number of replicas ``R``.
        tokens: Number of tokens ``V``.
        width: Width ``D``.

    Raises:
        ConfigError: A size is negative.
    """

    @guarded
    def __init__(self, replicas: int, tokens: int, width: int) -> None:
        """Create the uninitialised table, ``[R, V, D]``.

        Args:
            replicas: Number of replicas ``R``.
            tokens: Number of tokens ``V``.
            width: Width ``D``.

        Raises:
            ConfigError: A size is negative.
        """
        super().__init__()
        _check_sizes(replicas=replicas, tokens=tokens, width=width)
        self.weight = nn.Parameter(torch.empty(replicas, tokens, width))

    def initialise(self, draw: Draw) -> None:
        """Draw the vectors from a normal distribution, with the width ``D`` as ``fan_in``.

        Args:
            draw: Function that fills a parameter; see
                :class:`~inweights.models.layers.Draw`.
        """
        draw("weight", self.weight, self.weight.shape[2])

    def forward(self, ids: Int[Tensor, "*R S"]) -> Float[Tensor, "R S D"]:
        """Return the vectors of token ids, ``[R, S, D]``.

        Args:
            ids: Ids of ``S`` tokens: ``[S]``, the same for all ``R`` replicas, or ``[R,
                S]``.

        Raises:
            DataError: An id is not in the table (checked only on the CPU).
        """
        replicas, tokens, width = self.weight.shape
        check_ids(ids, tokens)
        if ids.dim() == 1:
            return self.weight.index_select(1, ids)
        rows = ids + tokens * torch.arange(replicas, device=ids.device).unsqueeze(1)
        return F.embedding(rows, self.weight.reshape(replicas * tokens, width))


def check_ids(ids: Int[Tensor, "*R S"], end: int) -> None:
    """Raise an error if a token id is not in the range 0 to ``end - 1``.

    Such an id would select a row from the table of another replica. On an accelerator
    nothing is checked, since the check would have to wait for the device.

    Args:
        ids: Token ids, ``[S]`` or ``[R, S]``.
        end: Number of tokens; the largest valid id is ``end - 1``.

    Raises:
        DataError: The ids are on the CPU, and an id is negative or at least ``end``.
    """
    checked = (
        ids.device.type == "cpu" and ids.numel() and not torch.compiler.is_compiling()
    )
    if checked and not 0 <= int(ids.min()) <= int(ids.max()) < end:
        raise DataError(
            f"token ids and positions must be from 0 to {end - 1}, got {int(ids.min())} to "
            f"{int(ids.max())}"
        )


def rows_of(
    table: Float[Tensor, "R N D"], ids: Int[Tensor, "*R S"]
) -> Float[Tensor, "R S D"]:
    """Return rows of each replica's table, selected by index.

    Args:
        table: ``N`` rows of width ``D`` for each replica, ``[R, N, D]``.
        ids: Indices of rows, from 0 to ``N - 1``: ``[S]``, the same for all replicas,
            or ``[R, S]``. They are not checked; see :func:`check_ids`.

    Returns:
        The rows, ``[R, S, D]``.

    Example:
        >>> table = torch.arange(6.0).view(2, 3, 1)  # two replicas with three rows each
        >>> rows_of(table, torch.tensor([0, 2])).flatten(1).tolist()
        [[0.0, 2.0], [3.0, 5.0]]
    """
    if ids.dim() == 1:
        return table.index_select(1, ids)
    replicas, rows, width = table.shape
    start = rows * torch.arange(replicas, device=ids.device).unsqueeze(1)
    flat = table.reshape(replicas * rows, width)
    return flat.index_select(0, (ids + start).flatten()).view(replicas, -1, width)

"""Define the conditions that vary the positions of a GPT or the block of a Mamba."""

import inweights as iw
from inweights.models.configs import MambaConfig

GPT = "GPT"
MAMBA = "Mamba"

#: Conditions of the GPT. A distribution, if no other part is named, is the one from
#: which learned position embeddings are initialised.
SMALL = "N(0, .02²)"
THIRD = "N(0, .3²)"
UNIT = "N(0, 1)"
WAVES = "sinusoidal"
NONE = "none"
LEARNED = (SMALL, THIRD, UNIT)
POSITIONS = (*LEARNED, WAVES, NONE)
LONG = "tokens N(0, 1)"
UNTIED = "untied"
BARE = "no residual stream"
#: Conditions of Mamba: the block of Mamba's paper, and the block in the code of
#: Geometric Memory, without and with a residual stream.
ADDS = "residual stream"
CODE = "the code's"
CODE_ADDS = "the code's, with a residual stream"

#: Changes that each condition makes to a GPT with a tied head and small initial
#: position embeddings.
CHANGES: dict[str, dict[str, object]] = {
    SMALL: {},
    THIRD: {"position_std": 0.3},
    UNIT: {"position_std": 1.0},
    WAVES: {"positions": "sinusoidal"},
    NONE: {"positions": "none"},
    LONG: {"embedding_std": 1.0},
    UNTIED: {"tied": False},
    BARE: {"residual": False},
}
#: Normalisation and initialisation of a block in the code of Geometric Memory.
_CODE = {
    "norm": "layer",
    "final_norm": False,
    "convolution": "uniform",
    "first_steps": "equal",
}
BLOCKS: dict[str, dict[str, object]] = {
    ADDS: {},
    CODE: {**_CODE, "residual": False},
    CODE_ADDS: _CODE,
}


#: Conditions of the GPT and of Mamba on path-star graphs, and of the GPT on the grid.
ON_STAR = (*POSITIONS, LONG, UNTIED)
MAMBAS_ON_STAR = (ADDS, CODE)
ON_GRID = (SMALL, UNIT, UNTIED, BARE)


def gpt_of(name: str, **sizes: object) -> iw.GPTConfig:
    """Return the config of the GPT of one condition.

    The conditions differ in position embeddings, token embeddings, head or residual
    stream.

    Args:
        name: Name of the condition, a key of :data:`CHANGES`. ``N(0, .02²)``, ``N(0,
            .3²)`` and ``N(0, 1)`` are learned position embeddings with this initial
            distribution. The other conditions are ``sinusoidal``, ``none`` (no position
            embeddings), ``tokens N(0, 1)`` (large token embeddings), ``untied`` (the
            head has its own weights) and ``no residual stream``.
        **sizes: Other fields of :class:`GPTConfig`, such as ``layers`` and ``width``;
            the condition overrides them.

    Returns:
        The config. Unless the condition changes them, position embeddings are learned
        and initialised with a small scale.

    Raises:
        KeyError: The condition is unknown.
        ConfigError: A value is out of range or has the wrong type.
        TypeError: A name in ``sizes`` is not a field of the config.
    """
    given = {
        **sizes,
        **CHANGES[name],
    }
    return iw.GPTConfig(**given)  # type: ignore[arg-type]


def mamba_of(name: str, **sizes: object) -> MambaConfig:
    """Return the config of a Mamba with one of three kinds of block.

    Args:
        name: Name of the condition, a key of :data:`BLOCKS`: ``residual stream`` (as in
            Mamba's paper), ``the code's`` (the block in the code of Geometric Memory,
            which has no residual stream) or ``the code's, with a residual stream``.
        **sizes: Other fields of :class:`MambaConfig`, such as ``layers`` and ``width``;
            the condition overrides them.

    Returns:
        The config.

    Raises:
        KeyError: The condition is unknown.
        ConfigError: A value is out of range or has the wrong type.
        TypeError: A name in ``sizes`` is not a field of the config.
    """
    given = {
        **sizes,
        **BLOCKS[name],
    }
    return MambaConfig(**given)  # type: ignore[arg-type]

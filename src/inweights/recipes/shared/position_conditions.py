"""Define the conditions for positions of a GPT and for the block of a Mamba."""

import inweights as iw
from inweights.models.configs import MambaConfig

GPT = "GPT"
MAMBA = "Mamba"

#: Conditions of the GPT. Positions are learned, and start as the name says, unless it
#: says more.
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
#: Conditions of Mamba: as in its paper, and as in the code of Geometric Memory.
ADDS = "residual stream"
CODE = "the code's"
CODE_ADDS = "the code's, with a residual stream"

#: What each condition changes in a model whose positions start small and whose head is
#: tied.
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
#: Norm and start of a block in the code of Geometric Memory.
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


#: Which are asked for paths; the others of the GPT and Mamba are on the grid alone.
ON_STAR = (*POSITIONS, LONG, UNTIED)
MAMBAS_ON_STAR = (ADDS, CODE)
ON_GRID = (SMALL, UNIT, UNTIED, BARE)


def gpt_of(name: str, **sizes: object) -> iw.GPTConfig:
    """Return the config of a GPT in one condition of its positions.

    Args:
        name: The condition, a key of :data:`CHANGES`: how positions are initialised or
            encoded (``N(0, .02²)``, ``N(0, .3²)``, ``N(0, 1)``, ``sinusoidal``,
            ``none``), ``tokens N(0, 1)`` (large token embeddings), ``untied`` (head) or
            ``no residual stream``.
        **sizes: Other fields of the config, such as ``layers`` and ``width``; the
            condition overrides them.

    Returns:
        The config.

    Raises:
        KeyError: The condition is unknown.
        ConfigError: A size is out of range.
    """
    given = {
        **sizes,
        **CHANGES[name],
    }
    return iw.GPTConfig(**given)  # type: ignore[arg-type]


def mamba_of(name: str, **sizes: object) -> MambaConfig:
    """Return the config of a Mamba in one condition of its block.

    Args:
        name: The condition, a key of :data:`BLOCKS`: ``residual stream`` (as in Mamba's
            paper), ``the code's`` (as in the code of Geometric Memory) or ``the code's,
            with a residual stream``.
        **sizes: Other fields of the config, such as ``layers`` and ``width``; the
            condition overrides them.

    Returns:
        The config.

    Raises:
        KeyError: The condition is unknown.
        ConfigError: A size is out of range.
    """
    given = {
        **sizes,
        **BLOCKS[name],
    }
    return MambaConfig(**given)  # type: ignore[arg-type]

"""What probes measure: the number to draw, its range, what chance gives, and how to read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import inweights
from inweights.config import Config, decode, load_toml
from inweights.errors import ConfigError

P = TypeVar("P", bound=Callable[..., Any])

#: Columns of a probe's table that the engine adds or takes away.
_OUTSIDE = {"replica", "step"}
#: Declarations of probes of one's own, by name.
_OWN: dict[str, Shown] = {}


class Shown(Config):
    """What a probe measures.

    Attributes:
        value: Column of the number that figures draw.
        columns: All columns of the probe's table, with spaces between; ``replica`` does not count.
            A table is recognised by them.
        label: Name of the number on an axis.
        null: What would be seen by chance, or why no control makes sense; one sentence.
        caption: How to read the figure; one sentence.
        low: Least possible value, if there is one.
        high: Largest possible value.
        axes: Names of other columns on an axis.
        chance: Column that holds what chance gives, drawn as a dashed line; empty if none does.
        controls: What to compare with; see :func:`~inweights.lab.with_controls`.
    """

    value: str
    columns: str
    label: str
    null: str
    caption: str
    low: float | None = None
    high: float | None = None
    axes: dict[str, str] = {}
    chance: str = ""
    controls: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in (self.value, self.chance, *self.axes):
            if name and name not in {*self.columns.split(), *_OUTSIDE}:
                raise ConfigError(f"a probe declares '{name}', which its table does not have")

    @property
    def limits(self) -> tuple[float, float] | None:
        """Least and largest possible value, where there are both."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def reference(self) -> dict[str, str] | None:
        """The dashed line of chance, as an option of drawings."""
        return {"column": self.chance, "label": "chance"} if self.chance else None


def shows(**declared: Any) -> Callable[[P], P]:
    """Declare what a probe of one's own measures, so that figures draw the right number.

    Args:
        declared: Attributes of :class:`Shown`.

    Raises:
        ConfigError: One is missing or unknown, or names a column that the table does not have.

    Example:
        >>> @shows(
        ...     value="size", columns="size", label="size of the weights", low=0.0,
        ...     null="An untrained model has weights, too.", caption="Norm of all parameters.",
        ... )
        ... def weight_size(model, worlds): ...
        >>> shown_in(["replica", "size"]).label
        'size of the weights'
        >>> del _OWN["weight_size"]
    """
    shown = decode(Shown, declared)

    def declare(probe: P) -> P:
        _OWN[probe.__name__] = shown
        return probe

    return declare


def shown_in(columns: Iterable[str]) -> Shown | None:
    """Return what the one probe declares whose table has exactly these columns.

    None where no probe has them, or several that draw different numbers.
    """
    wanted = set(columns) - _OUTSIDE
    known = {**built_in(), **_OWN}
    found = [shown for shown in known.values() if set(shown.columns.split()) - _OUTSIDE == wanted]
    return found[0] if len({shown.value for shown in found}) == 1 else None


def shown_by(probe: str) -> Shown | None:
    """Return what a probe declares, by its name or ``module:function``."""
    name = probe.rpartition(":")[2]
    return _OWN.get(name) or built_in().get(name)


@cache
def built_in() -> dict[str, Shown]:
    """Declarations of the library's probes, by name.

    They are read without importing the probes, which load torch.
    """
    file = Path(inweights.__file__).parent / "probes" / "shown.toml"
    return {name: decode(Shown, declared) for name, declared in load_toml(file).items()}

"""Describe what a probe measures, so that figures and controls can be chosen for its table.

:class:`Shown` is the description, :func:`shows` attaches one to a user-defined probe, and
:func:`shown_in` finds the description that fits the columns of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from inweights.config import Config, decode, load_toml
from inweights.errors import ConfigError

P = TypeVar("P", bound=Callable[..., Any])
#: Columns of a probe's table that the engine adds or removes, or that older tables lack.
_OUTSIDE = {"replica", "step", "right_answers"}
#: Declarations of users' probes, by name.
_OWN: dict[str, Shown] = {}


class Shown(Config):
    """Description of the table that a probe returns.

    Attributes:
        value: Name of the column with the numbers that are plotted in figures.
        columns: All columns of the probe's table except ``replica``, separated by
            spaces. A table is recognised by its columns.
        label: Label of the axis of ``value``.
        null: One sentence that states the value expected by chance, or the reason why
            no control makes sense.
        caption: How to read the figure, as one sentence.
        low: Smallest possible value; ``None`` if there is none.
        high: Largest possible value; ``None`` if there is none.
        axes: Axis labels of other columns, keyed by column.
        chance: Name of the column with the value expected by chance, which is drawn as
            a dashed line; empty if there is no such column.
        controls: Names of controls that make sense for this probe (``untrained``,
            ``shuffled``, ``no-bridge``, ``frozen``); see
            :func:`~inweights.experiments.with_controls`. The names are not checked.

    Raises:
        ConfigError: ``value``, ``chance`` or a key of ``axes`` is neither among
            ``columns`` nor ``replica``, ``step`` or ``right_answers``.
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
                raise ConfigError(
                    f"the column '{name}' is declared for a probe, but is not among the "
                    f"columns of the probe's table: {self.columns}"
                )

    @property
    def limits(self) -> tuple[float, float] | None:
        """Smallest and largest possible values of the column that is plotted.

        The result is ``None`` if the probe does not declare both values.
        """
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def reference(self) -> dict[str, str] | None:
        """The line at chance level, as an option of drawing functions; ``None`` if there is none.

        The dictionary has the keys ``column``, the name of the column with the value
        expected by chance, and ``label``, which is ``chance``.
        """
        return {"column": self.chance, "label": "chance"} if self.chance else None


def shows(**declared: Any) -> Callable[[P], P]:
    """Return a decorator that registers a description (:class:`Shown`) of a user's probe.

    The description is registered under the probe's name, in place of an earlier one.

    Args:
        **declared: The attributes of :class:`Shown`. The following strings are
            required: ``value`` (the column to plot), ``columns`` (all columns except
            ``replica``, separated by spaces), ``label`` (of the axis), ``null`` (a
            sentence about chance or controls) and ``caption``.

    Returns:
        A decorator that registers the description and returns the probe unchanged.

    Raises:
        ConfigError: An attribute is unknown, is missing or has the wrong type; or
            ``value``, ``chance`` or a key of ``axes`` is not a column.

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
    """Return the description of the probe whose table has the given columns.

    Args:
        columns: Names of a table's columns; ``replica``, ``step`` and ``right_answers``
            are ignored.

    Returns:
        The description; ``None`` if no probe has exactly these columns, or if several
        probes have them but differ in ``value``. If several probes have these columns
        and the same ``value``, the description of the first one is returned.
    """
    wanted = set(columns) - _OUTSIDE
    known = built_in() | _OWN
    found = [
        shown
        for shown in known.values()
        if set(shown.columns.split()) - _OUTSIDE == wanted
    ]
    return found[0] if len({shown.value for shown in found}) == 1 else None


def shown_by(probe: str) -> Shown | None:
    """Return the description of a probe's table, or ``None`` if the probe has no description.

    Args:
        probe: Name of the probe, or its import path ``module:name``, of which only the
            name is used. A user's description takes precedence over the description of
            a library probe of the same name.
    """
    name = probe.rpartition(":")[2]
    return _OWN.get(name) or built_in().get(name)


@cache
def built_in() -> dict[str, Shown]:
    """Return the descriptions of the library's probes, keyed by name, without importing torch."""
    # Finding the file through ``inweights.probes`` would import that package, and torch with it.
    file = Path(str(resources.files("inweights").joinpath("probes", "shown.toml")))
    return {name: decode(Shown, declared) for name, declared in load_toml(file).items()}

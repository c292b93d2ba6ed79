"""Describe measures, figures and claims as the TOML file of a study states them."""

import inspect
import sys
from collections.abc import Callable
from typing import Any

from msgspec import structs

from inweights.config import Config
from inweights.errors import ConfigError, check_names
from inweights.experiments.claims.score import Value
from inweights.experiments.grammar.trial import Measure, Probe


class MeasureEntry(Config):
    """A :class:`Measure` in a file.

    Attributes:
        probe: The probe by name: one of the library, or ``module:function``.
        name: Name of its table; the probe's if left out.
        options: Keyword arguments of the probe.
        every: Steps between measurements; 0 measures once, at the end.
        where: Only trials whose labels have these values are measured.
    """

    probe: str
    name: str = ""
    options: dict[str, Any] = {}
    every: int = 0
    where: dict[str, Value] = {}

    @property
    def measure(self) -> Measure:
        """The measure, with its probe.

        Raises:
            ConfigError: There is no such probe; the message names the nearest.
        """
        about = structs.asdict(self) | {"name": self.table, "probe": _probe(self.probe)}
        return Measure(**about)

    @property
    def table(self) -> str:
        """Name of its table."""
        return self.name or self.probe.rpartition(":")[2]


class FigureEntry(Config):
    """A :class:`Figure` in a file; what it leaves out is chosen by the drawing.

    Attributes:
        table: Name of the table of a measure.
        title: What the figure shows.
        caption: How to read it.
        kind: Name of the drawing.
        options: Those of the drawing, such as ``x = "n"`` or ``where = {role =
            "composition"}``.
    """

    table: str
    title: str = ""
    caption: str = ""
    kind: str = "auto"
    options: dict[str, Any] = {}


class ClaimEntry(Config):
    """A claim in a file: a sentence, a :class:`Score` and its target.

    Attributes:
        name: Short name, the last part of its id.
        text: The sentence.
        table: Table of the score.
        column: Column of its numbers.
        at: Values of columns in the rows that count.
        minus: Values that differ in the rows that are subtracted.
        each: Columns over all of whose values the claim has to hold.
        least: Lower edge of the target.
        most: Upper edge of the target.
        bounds: Least and largest value that the score can have.
    """

    name: str
    text: str
    table: str
    column: str
    at: dict[str, Value] = {}
    minus: dict[str, Value] = {}
    each: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    bounds: tuple[float, float] | None = None


def _probe(name: str) -> Probe:
    """Return a probe by its name, or by ``module:function`` if that module is loaded."""
    from inweights import probes

    module, colon, function = name.partition(":")
    if colon:
        found = getattr(sys.modules.get(module), function, None)
        # A file names no function but a probe: one whose first argument is a model.
        if not (inspect.isfunction(found) and _takes_a_model(found)):
            raise ConfigError(
                f"there is no probe {name}; load its module with --plugin {module}"
            )
        return found
    known = {one: getattr(probes, one) for one in probes.__all__}
    usable: dict[str, Probe] = {one: p for one, p in known.items() if _takes_a_model(p)}
    check_names("probe", [name], usable, hint="A probe of your own is module:function.")
    return usable[name]


def _takes_a_model(function: Callable[..., Any]) -> bool:
    return [*inspect.signature(function).parameters][:1] == ["model"]

"""Define the configs of the measures, figures and claims in a study file."""

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
    """A :class:`Measure` as written in a study file.

    Attributes:
        probe: Name of a probe of the library, or ``module:function``.
        name: Name of the table; by default the name of the probe, without its module.
        options: Keyword arguments of the probe; by default none.
        every: Number of steps between measurements; 0 (the default) for a single
            measurement at the end of training.
        where: Values of labels, keyed by name. Only trials that have these labels with
            these values are measured; by default all trials are measured.
    """

    probe: str
    name: str = ""
    options: dict[str, Any] = {}
    every: int = 0
    where: dict[str, Value] = {}

    @property
    def measure(self) -> Measure:
        """The :class:`Measure` that the entry describes, with the function of its probe.

        Raises:
            ConfigError: There is no such probe (the message suggests similar names); a
                probe is named as ``module:function``, but the module has not been
                imported, has no such function, or the first argument of the function is
                not called ``model``; or ``every`` is not between 0 and 10^9.
        """
        about = structs.asdict(self) | {"name": self.table, "probe": _probe(self.probe)}
        return Measure(**about)

    @property
    def table(self) -> str:
        """Name of the measure's table: ``name`` if given, otherwise the name of the probe."""
        return self.name or self.probe.rpartition(":")[2]


class FigureEntry(Config):
    """A :class:`Figure` as written in a study file.

    Attributes:
        table: Name of the table of a measure, or ``losses``.
        title: Title of the figure; by default the name of the table.
        caption: How to read the figure; by default derived from the description of the
            probe's table (:class:`~.shown.Shown`).
        kind: Name of the drawing function; by default ``auto``, which uses the varied
            settings as the x-axis, lines and panels.
        options: Options of the drawing function, such as ``x = "n"`` or ``where = {role
            = "composition"}``; omitted options have their defaults.
    """

    table: str
    title: str = ""
    caption: str = ""
    kind: str = "auto"
    options: dict[str, Any] = {}


class ClaimEntry(Config):
    """A claim as written in a study file: a sentence, a :class:`Score` and its target.

    Attributes:
        name: Short name, the last part of the claim's id.
        text: The claim, as a sentence.
        table: Name of the table with the judged numbers.
        column: Name of the column with these numbers.
        at: Values that columns must have in the rows to be used, keyed by column; by
            default all rows are used.
        minus: Values that columns must have in the rows to be subtracted, keyed by
            column; columns that are only in ``at`` keep their values. By default
            nothing is subtracted.
        each: Names of columns. The claim must hold for every combination of their
            values. By default there are none.
        least: Smallest value of the score that meets the claim; ``None`` for no lower
            limit. ``least``, ``most`` or both must be given.
        most: Largest value of the score that meets the claim; ``None`` for no upper
            limit.
        bounds: Smallest and largest possible value of the score, before a subtraction;
            ``None`` for no bounds.
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
    """Return a probe by its name, or by ``module:function`` if the module is loaded."""
    from inweights import probes

    module, colon, function = name.partition(":")
    if colon:
        found = getattr(sys.modules.get(module), function, None)
        # A file must not name any other function than a probe, whose first argument is
        # a model.
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

"""Read a study from a TOML file with arguments of :func:`inweights.sweep`, figures and claims.

:func:`open_study` turns the file into a recipe named ``study/<name of the file>``,
which runs like any other. The file's contents, including all default values, are stored
as the settings of the run.
"""

import inspect
import re
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from msgspec import structs

from inweights.config import Config, decode, load_toml, named, to_plain
from inweights.config.values import decode as decode_value
from inweights.errors import ConfigError, check_names
from inweights.experiments.claims.claim import Claim
from inweights.experiments.claims.score import Judged, Score
from inweights.experiments.claims.stating import own_claim
from inweights.experiments.claims.target import Target
from inweights.experiments.grammar.cautions import cautions
from inweights.experiments.grammar.figure import Figure, auto
from inweights.experiments.grammar.recipe import Recipe
from inweights.experiments.grammar.seed_choice import choose_seeds
from inweights.experiments.grammar.shown import shown_by
from inweights.experiments.studies.study_entries import (
    ClaimEntry,
    FigureEntry,
    MeasureEntry,
)
from inweights.experiments.studies.sweep_object import Study
from inweights.models.outside.wrapping import wrap_named
from inweights.support.keys.code import Code

_HOME = "study"


class StudyFile(Config):
    """Contents of a study file, with one attribute for each key of the TOML file.

    Attributes:
        world: Table with the ``kind`` of the world and its settings; or a table with
            ``facts = "facts.csv"`` and settings of :class:`~inweights.worlds.Triples`.
        function: Function of a plugin that replaces the world, as ``module:function``.
            It has the argument ``seed``, or ``seeds`` if it takes all seeds together;
            its other arguments are varied. Empty by default.
        model: Table with the ``kind`` of the architecture and its settings; or ``wrap =
            "module:factory"`` of a plugin with the factory's options
            (:func:`inweights.wrap`). By default a GPT whose size fits the largest
            world.
        learner: Table with the ``phases`` of a curriculum, or with the ``kind`` of
            another learner and its settings. By default the learner that
            :mod:`inweights.training.learners` provides for the world's family.
        over: Varied values, keyed by path, or a list of points; by default none.
        seeds: Number of seeds, counted from 0, or a list of seeds; by default 3.
        measures: Names of probes, or tables with options
            (:class:`~.study_entries.MeasureEntry`); by default the accuracy.
        title: Title of the study; by default its name.
        summary: Description of the study; by default a list of the varied settings.
        figures: Figures (:class:`~.study_entries.FigureEntry`); by default one per
            measure.
        claims: Claims (:class:`~.study_entries.ClaimEntry`) to be judged; by default
            none.
        controls: Names of controls (``untrained``, ``shuffled``, ``no-bridge``,
            ``frozen``); by default none.
    """

    later = {"controls": (), "function": ""}
    by_path = ("over",)

    world: dict[str, Any] = {}
    function: str = ""
    model: dict[str, Any] | None = None
    learner: dict[str, Any] | None = None
    over: dict[str, Any] | tuple[dict[str, Any], ...] = {}
    seeds: int | tuple[int, ...] = 3
    measures: tuple[str | MeasureEntry, ...] = ("accuracy",)
    title: str = ""
    summary: str = ""
    figures: tuple[FigureEntry, ...] = ()
    claims: tuple[ClaimEntry, ...] = ()
    controls: tuple[str, ...] = ()

    @property
    def parts(self) -> dict[str, dict[str, Any]]:
        """Tables ``world``, ``model`` and ``learner`` in the file, keyed by name."""
        world = None if self.function else self.world
        tables = {"world": world, "model": self.model, "learner": self.learner}
        return {name: table for name, table in tables.items() if table is not None}

    @property
    def measure_entries(self) -> list[MeasureEntry]:
        """Entries for the measures that the file lists or, if it names a function, for this."""
        given = (self.function,) if self.function else self.measures
        return [
            MeasureEntry(probe=one) if isinstance(one, str) else one for one in given
        ]

    def named(self) -> Self:
        """Return a copy of the study's contents without newer options that have no effect.

        The run's key is computed from the copy. Options that were added after version
        0.1.0 are left out if their values result in the behaviour of that version.

        Raises:
            ConfigError: ``world``, ``model`` or ``learner`` has no known ``kind``, a
                value is invalid, or the module of a wrapped factory is not imported.
        """
        plain = {
            name: named(_part(name, v), newer=True) for name, v in self.parts.items()
        }
        return structs.replace(self, **plain)

    @property
    def study(self) -> Study:
        """The sweep that the file describes, as a :class:`~.sweep_object.Study`.

        Raises:
            ConfigError: ``world``, ``model`` or ``learner`` has no known ``kind``, a
                value is invalid, a probe does not exist, or a function or factory is
                not in an imported module or does not take the given arguments.
            DataError: A file on which the function depends cannot be read.
        """
        over: Any = self.over
        if self.function:
            function = Code(at=self.function).load("seed", "seeds")
            together = "seeds" in inspect.signature(function).parameters
            return Study(function, over=over, seeds=self.seeds, replicated=together)
        configs = {name: _part(name, values) for name, values in self.parts.items()}
        if isinstance(over, Mapping):
            over = {key: _values(key, values, configs) for key, values in over.items()}
        measures = [entry.measure for entry in self.measure_entries]
        return Study(
            **configs,
            over=over,
            seeds=self.seeds,
            measures=measures,
            controls=self.controls,
        )


def open_study(path: str | Path) -> Recipe:
    """Read a study from a TOML file and return it as a recipe, which can be run like any other.

    Args:
        path: Path of the file. The modules to which it refers must have been imported.

    Returns:
        The recipe ``study/<name of the file>``, with the single scale ``cpu``.

    Raises:
        ConfigError: The file cannot be read or is not a valid study; the message names
            the file.
        DataError: A world that has to be built, to choose the model or for a control,
            cannot be built, for example because its file of facts is missing.
    """
    path = Path(path)
    values = load_toml(path)
    try:
        file = decode(StudyFile, values)
        # Default values are filled in, so that they can be changed by their paths.
        parts = {
            name: to_plain(_part(name, table)) for name, table in file.parts.items()
        }
        file = structs.replace(file, **parts)
        plan = file.study.plan
        labels = (plan.trials[0] if plan.trials else plan.computations[0]).labels
        if labels and not file.summary:
            file = structs.replace(file, summary=f"Varies {', '.join(labels)}.")
        name = re.sub(r"[^\w-]+", "-", path.stem).strip("-") or "study"
        return study_recipe(f"{_HOME}/{name}", file)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def study_recipe(name: str, file: StudyFile | Mapping[str, Any]) -> Recipe:
    """Return a study as a recipe, which can be run like any other.

    Args:
        name: Name of the recipe, ``study/<name of the file>``.
        file: The study, as read from a file or stored in a run.

    Returns:
        The recipe, with the single scale ``cpu``.

    Raises:
        ConfigError: A key or the table of a figure is unknown, a value has the wrong
            type, the seeds are invalid, or a claim has no valid target. World, model,
            learner, measures and ``over`` are checked only when the plan is created.
    """
    file = (
        file
        if isinstance(file, StudyFile)
        else decode(StudyFile, decode_value(dict(file)))
    )
    chosen = choose_seeds(file.seeds, 0)
    return Recipe(
        name=name,
        title=file.title or f"A study: {name.partition('/')[2]}",
        paper="A study of one's own",
        place=f"{name.partition('/')[2]}.toml",
        summary=file.summary,
        scales={"cpu": file},
        seeds={"cpu": len(chosen)},
        plan=attrgetter("study.plan"),
        claims=[_claim(name, entry) for entry in file.claims],
        figures=_figures(file),
        first_seed=chosen[0],
        root_seeds=chosen,
        # In version 1, a study without a learner was trained by a plain curriculum.
        version=2 if file.learner is None else 1,
        cautions=lambda file, tables: cautions(file.study.trials, tables),
    )


def _part(part: str, values: Mapping[str, Any]) -> Any:
    """Return the config of a part, according to its ``kind``."""
    from inweights.models.registry import model_kind
    from inweights.training.learners.kinds import learner_kind
    from inweights.worlds.registry import world_kind

    about = dict(values)
    if part == "world" and "facts" in about and "kind" not in about:
        about |= {"kind": "triples", "path": about.pop("facts")}
    kind = about.get("kind")
    if part == "model" and isinstance(about.get("wrap"), str):
        return wrap_named(about)
    if part == "learner":
        found: Any = learner_kind(str(about.pop("kind", "curriculum")))
    elif kind is None:
        example = "two-hop" if part == "world" else "gpt"
        raise ConfigError(
            f'the {part} has no kind; add kind = "{example}" to its table'
        )
    else:
        found = world_kind(str(kind)) if part == "world" else model_kind(str(kind))
    try:
        return decode(found, about)
    except ConfigError as error:
        raise ConfigError(f"{part}: {error}") from None


def _values(key: str, values: Any, configs: Mapping[str, Any]) -> Any:
    """Return the values of an axis; tables that describe a whole part become configs."""
    if key not in ("world", "model", "learner") or not isinstance(values, Mapping):
        return values
    fields = getattr(configs.get(key), "__struct_fields__", ())
    whole = {
        n: v for n, v in values.items() if n not in fields and isinstance(v, Mapping)
    }
    return {**values, **{name: _part(key, one) for name, one in whole.items()}}


def _claim(recipe: str, entry: ClaimEntry) -> Claim:
    """Return the claim that an entry describes."""
    score = Score(
        table=entry.table,
        column=entry.column,
        where=entry.at,
        each=entry.each,
        bounds=entry.bounds,
    )
    if entry.minus:
        score -= score.at(**entry.minus)
    target = Target(least=entry.least, most=entry.most)
    return own_claim(f"{recipe}/{entry.name}", entry.text, Judged(score, target))


def _figures(file: StudyFile) -> list[Figure]:
    """Return the figures of a file, or one figure per measure if it lists none."""
    drawn = "Mean over seeds, its 95% interval (from five seeds on), and single seeds as dots."
    captions: dict[str, str] = {}
    for entry in file.measure_entries:
        shown = shown_by(entry.probe)
        captions[entry.table] = (
            f"{shown.caption} {shown.null} {drawn}" if shown else drawn
        )
    if not file.figures:
        return [
            auto(name, title=f"{name} by what was varied", caption=caption)
            for name, caption in captions.items()
        ]
    captions.setdefault("losses", auto("losses").caption)
    check_names(
        "table", [e.table for e in file.figures], captions, hint="A figure draws it."
    )
    return [
        Figure(
            id=f"{entry.table}-{number}",
            kind=entry.kind,
            title=entry.title or entry.table,
            caption=entry.caption or captions[entry.table],
            sources=(entry.table,),
            options=entry.options,
        )
        for number, entry in enumerate(file.figures, 1)
    ]

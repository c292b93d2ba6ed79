"""Enter a user-defined model in the league, a table in which models are compared.

:func:`league` runs the league's recipe for the model and returns the table.
:func:`submit` writes an entry: a folder with ``config.json`` (settings, seeds, hashes
of code), ``scores.csv`` and ``environment.json``. :func:`replay` trains the model of an
entry again and compares the scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from inweights.actions.finished import find
from inweights.actions.ledger.lines import stored_root
from inweights.actions.making import run
from inweights.config import apply_overrides, as_overrides, decode, to_plain
from inweights.errors import ConfigError, DataError, check_names
from inweights.models.outside.module_configs import WrapConfig
from inweights.models.outside.wrapping import wrap
from inweights.recipes import get_recipe
from inweights.runs import explained_writes, read_json, write_json
from inweights.support.keys.changed import differing

if TYPE_CHECKING:
    from inweights.experiments.engine.outcome import Outcome
    from inweights.experiments.grammar.recipe import Recipe

_RECIPE = "beyond/league"
_CONFIG = "config.json"
_SCORES = "scores.csv"
_ENVIRONMENT = "environment.json"
_ROW = ["model", "identity", "trained", "hops"]


def league(
    model: Any = None,
    *,
    name: str = "",
    scale: str = "cpu",
    overrides: Sequence[str] | Mapping[str, Any] = (),
    runs: str | Path | None = None,
    into: str | Path | None = None,
    **execution: Any,
) -> pl.DataFrame:
    """Train a model with the recipe of the league and compare it with other models.

    Args:
        model: Factory of modules, as for :func:`~inweights.wrap`, or config of a GPT,
            Emb-MLP, Mamba or wrapped module; by default no model is trained.
        name: Name in the table; by default the ``label`` of the config, or its kind.
        scale: ``smoke`` for a quick test, ``cpu`` for the table, or ``paper``.
        overrides: Changed settings, such as ``{"rate": 1e-3}``; by default none.
        runs: Folder of all runs; by default ``$INWEIGHTS_RUNS`` or, if unset, ``runs``.
        into: Parent folder of the new entry; by default no entry is written.
        **execution: Further arguments of :func:`inweights.run`, such as ``seeds``.

    Returns:
        One row per ``model``, ``identity`` (whether training includes identity facts),
        ``trained`` (fraction of the two-hop facts in training) and ``hops``, the name
        of the evaluated statements. ``all`` stands for all two-hop queries. In
        ``composition``, both hops of a query occur in two-hop training facts; in
        ``first_unseen``, ``second_unseen`` and ``both_unseen``, the first, the second
        or both do not. ``facts`` are the facts of the role with the lowest accuracy.
        Further columns: mean ``accuracy`` (0 to 1), number of ``seeds``, number of
        ``parameters`` of one replica, ``operations`` (floating-point operations for a
        prompt of three tokens), and ``own`` (true for ``model``, whose rows are first).

    Raises:
        ConfigError: The model is not of one of these kinds, its name is already used,
            or the scale or a setting is invalid.
        DataError: A name of the world has no token id, or the ledger is damaged.
        FolderError: A stored run or entry is damaged.
        RunError: A training run failed, or a file cannot be written.

    Example:
        >>> import inweights as iw
        >>> iw.league().columns[:4]
        ['model', 'identity', 'trained', 'hops']
    """
    if model is None:
        return beside(None, scale, runs)
    outcome = entered(
        model, name=name, scale=scale, overrides=overrides, runs=runs, **execution
    )
    if into is not None:
        submit(outcome, into)
    return beside(outcome, scale, runs)


def beside(
    outcome: Outcome | None, scale: str, runs: str | Path | None = None
) -> pl.DataFrame:
    """Return the league table: scores of a given run, the stored run and the stored entries.

    Args:
        outcome: A run of the league's recipe; ``None`` to include only stored scores.
        scale: Scale of the stored rows: ``smoke``, ``cpu`` or ``paper``.
        runs: Folder of all runs, from which the finished run of the league's recipe is
            read; by default ``$INWEIGHTS_RUNS`` or, if unset, ``runs``.

    Returns:
        One row per model and condition, with the columns that :func:`league` explains.
        The rows of ``outcome`` come first, then those of the finished run and of the
        stored entries. If a model has several results, only the first one is used.

    Raises:
        ConfigError: There is no such scale.
        DataError: The ledger of the stored results is damaged.
        FolderError: A stored run or entry is damaged.
    """
    check_names("scale", [scale], get_recipe(_RECIPE).scales)
    found = [pl.DataFrame(schema=dict.fromkeys((*_ROW, "accuracy", "own"), pl.Null))]
    if outcome is not None:
        found.append(rows_of(scores_of(outcome)).with_columns(own=pl.lit(value=True)))
    standing = find(_RECIPE, scale, runs=runs)
    stored = [] if standing is None else [scores_of(standing)]
    files = sorted((stored_root() / "league").glob(f"*/{_SCORES}"))
    abouts = [read_json(file.with_name(_CONFIG), dict[str, Any]) for file in files]
    stored += [
        pl.read_csv(file)
        for file, about in zip(files, abouts, strict=True)
        if about.get("scale") == scale
    ]
    for scores in stored:
        known = set[str]()
        for table in found:
            known.update(table["model"])
        rows = rows_of(scores.filter(~pl.col("model").is_in(list(known))))
        found.append(rows.with_columns(own=pl.lit(value=False)))
    return pl.concat(found, how="diagonal_relaxed")


def entered(
    model: Any,
    *,
    name: str = "",
    scale: str = "cpu",
    overrides: Sequence[str] | Mapping[str, Any] = (),
    **execution: Any,
) -> Outcome:
    """Run the recipe of the league (``beyond/league``) with a single model.

    Args:
        model: A factory of modules, or a config; see :func:`league`.
        name: Name in the table; by default the ``label`` of the config, or its kind.
        scale: ``smoke``, ``cpu`` or ``paper``.
        overrides: Changed settings of the recipe; by default none.
        **execution: Further arguments of :func:`inweights.run`.

    Returns:
        The finished run of this model. No claims are judged.

    Raises:
        ConfigError: The kind of model is not allowed in the league, its name is already
            used, or the scale or a setting is invalid.
        DataError: The model has no token id for a name of the world.
        RunError: A training run failed, or a file is damaged or cannot be written.
    """
    config = model if isinstance(model, msgspec.Struct) else wrap(model)
    kind = config.__struct_config__.tag
    label = name or getattr(config, "label", "") or str(kind)
    recipe = get_recipe(_RECIPE)
    if scale not in recipe.scales:
        recipe.resolve(scale)  # raises an error that lists the scales
    standing = recipe.scales["cpu"].models  # type: ignore[attr-defined]
    if label in standing:
        raise ConfigError(
            f"the league already has a model '{label}'; choose another name"
        )
    try:
        alone = msgspec.structs.replace(
            recipe.scales[scale], models=(), entrant=config, name=label
        )
        decode(type(alone), to_plain(alone))
    except ConfigError as error:
        raise ConfigError(
            f"a '{kind}' cannot be entered in the league; give a factory, or the "
            f"config of a gpt, emb-mlp or mamba ({error})"
        ) from None
    changed = apply_overrides(alone, as_overrides(alone, overrides))
    return run(_with(recipe, scale, changed), scale, **execution)


def _with(recipe: Recipe, scale: str, settings: Any) -> Recipe:
    """Return the recipe with different settings at one scale, and without claims."""
    return replace(recipe, scales={**recipe.scales, scale: settings}, claims=())


def scores_of(outcome: Outcome) -> pl.DataFrame:
    """Return the accuracy of every model and seed of a league run, and each model's cost.

    Args:
        outcome: A run of the league's recipe.

    Returns:
        One row per ``model``, ``identity``, ``trained``, ``hops`` (see :func:`league`)
        and ``seed``, sorted by these columns, with ``accuracy`` (from 0 to 1) and the
        columns ``parameters`` and ``operations``, which :func:`league` explains.
    """
    cost = (
        outcome.tables["cost"]
        .group_by("model")
        .agg(pl.col("parameters", "operations").first())
    )
    table = outcome.tables["league"].select(*_ROW, "seed", "accuracy")
    return table.join(cost, on="model").sort(*_ROW, "seed")


def rows_of(scores: pl.DataFrame) -> pl.DataFrame:
    """Average the scores of a league run over seeds.

    Args:
        scores: A table as returned by :func:`scores_of`.

    Returns:
        One row per ``model``, ``identity``, ``trained`` and ``hops``, in order of first
        appearance, with the mean ``accuracy``, the number of ``seeds``, ``parameters``
        and ``operations``.
    """
    means = [pl.col("accuracy").mean(), pl.col("seed").n_unique().alias("seeds")]
    costs = pl.col("parameters", "operations").first()
    return scores.group_by(_ROW, maintain_order=True).agg(*means, costs)


def submit(outcome: Outcome, into: str | Path) -> list[Path]:
    """Write an entry of the league for each model of a run, each into its own folder.

    Args:
        outcome: A run of the recipe ``beyond/league``, whose table compares models.
        into: Folder in which these folders are created; it is created if missing.

    Returns:
        Paths of the folders, one per model. A folder has the model's name in lower
        case, with hyphens instead of spaces. Existing files are replaced.

    Raises:
        WriteError: A file cannot be written.
    """
    scores = scores_of(outcome)
    settings = dict(outcome.folder.config["settings"])
    made = []
    for name in scores["model"].unique(maintain_order=True):
        place = Path(into) / str(name).replace(", ", "-").replace(" ", "-").lower()
        own = settings if settings.get("entrant") else {**settings, "models": [name]}
        with explained_writes(place):
            place.mkdir(parents=True, exist_ok=True)
            write_json(place / _CONFIG, {**outcome.folder.config, "settings": own})
            write_json(place / _ENVIRONMENT, outcome.environment)
            scores.filter(model=name).write_csv(place / _SCORES)
        made.append(place)
    return made


def replay(entry: str | Path, **execution: Any) -> pl.DataFrame:
    """Retrain the model of a league entry, and return its stored and its new scores.

    Args:
        entry: A folder that :func:`submit` wrote for one model.
        **execution: Further arguments of :func:`inweights.run`.

    Returns:
        One row per ``model``, ``identity``, ``trained``, ``hops`` and ``seed`` (see
        :func:`league`), with ``accuracy`` (as stored in the entry) and ``now`` (the new
        accuracy), both from 0 to 1. A value is null if its run lacks the row.

    Raises:
        ConfigError: The Python module of the factory was not imported, its source has
            changed, or a setting of the entry is invalid.
        DataError: The folder is not an entry of the league.
        FolderError: The entry's config cannot be read.
        RunError: A training run failed, or a file is damaged or cannot be written.
    """
    place = Path(entry)
    if missing := [n for n in (_CONFIG, _SCORES) if not (place / n).is_file()]:
        raise DataError(
            f"{place} is not an entry of the league: it lacks {' and '.join(missing)}"
        )
    config = read_json(place / _CONFIG, dict[str, Any])
    recipe = get_recipe(_RECIPE)
    scale = str(config.get("scale"))
    seeds = tuple(config.get("seeds", ()))
    settings: Any = decode(type(recipe.scales["cpu"]), config.get("settings", {}))
    if isinstance(settings.entrant, WrapConfig):
        # Raises an error before any training if the factory's module is missing.
        _ = settings.entrant.make
    changed = _with(recipe, scale, settings)
    _, _, now = changed.resolve(scale, seeds)
    if others := differing(config.get("sources", {}), now.get("sources", {})):
        raise ConfigError(f"changed since {place} was written: {', '.join(others)}")
    again = scores_of(run(changed, scale, seeds=seeds, **execution))
    before = pl.read_csv(place / _SCORES, schema_overrides=dict(again.schema))
    keys = [*_ROW, "seed"]
    new = again.select(*keys, now="accuracy")
    return before.join(new, on=keys, how="full", coalesce=True, nulls_equal=True)

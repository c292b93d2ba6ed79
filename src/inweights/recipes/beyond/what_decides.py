"""Our experiment: a fractional factorial design of nine settings that may decide composition."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

import inweights as iw
from inweights.config import check_size
from inweights.experiments import Curriculum, Plan, Trial, number
from inweights.recipes.shared.derived import compositions, where_known
from inweights.seeds import Streams

#: Low and high value of each factor, by the name of the factor in figures.
FACTORS: dict[str, tuple[Any, Any]] = {
    "rate": (0.5, 2.0),  # multiplied by 0.064 / width
    "random offset": (False, True),
    "tied head": (False, True),
    "small initialisation": (False, True),
    "decay": (0.0, 0.1),
    "layers": (2, 4),
    "width": (32, 64),
    "steps": (280, 560),
    "facts": (10, 20),
}
#: Number of cells of the design, each of which is trained with every seed, and number
#: of resamplings for the intervals.
CELLS = 32
DRAWS = 400
#: Products of the five crossed columns (A to E) that define the other four. No main
#: effect is then aliased with another main effect or with an interaction of two
#: factors: resolution IV (Box, Hunter and Hunter, Table 6.22).
_PRODUCTS = ("BCDE", "ACDE", "ABDE", "ABCE")


def design() -> dict[str, list[int]]:
    """Return the level, -1 or 1, of each of nine factors in each of the 32 cells of the design.

    The factors are the keys of :data:`FACTORS`, and a cell is a combination of their
    levels. The design is a full factorial of five factors. The levels of each of the
    other four are products of the levels of these five (resolution IV).

    Returns:
        Dictionary that maps the name of each factor to its 32 levels, one for each
        cell.

    Example:
        >>> levels = np.array(list(design().values()))
        >>> levels.shape, bool((levels @ levels.T == 32 * np.eye(9)).all())
        ((9, 32), True)
    """
    crossed: dict[str, list[int]] = {}
    for place, letter in enumerate("ABCDE"):
        crossed[letter] = [1 if cell >> place & 1 else -1 for cell in range(CELLS)]
    products = []
    for word in _PRODUCTS:
        columns = [crossed[letter] for letter in word]
        products.append(np.prod(columns, axis=0).tolist())
    return dict(zip(FACTORS, [*crossed.values(), *products], strict=True))


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``what_decides.toml``. A value of the wrong type
    raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        shrink: Divisor, at least 1, of the numbers of layers and facts and of the
            widths, for use in tests. Numbers of updates are divided by its square.
    """

    shrink: int = 1


def plan(settings: Settings) -> Plan:
    """Plan one training run for each combination of settings in the factorial design.

    Args:
        settings: The recipe's settings, such as ``shrink``; :class:`Settings` describes
            each.

    Returns:
        The plan.

        - Labels of the trials: ``cell`` (0 to 31) and the value of each factor in the
          cell: ``rate`` (learning rate, as a multiple of 0.064 / width: 0.5, 2),
          ``random_offset`` (whether positions have a random offset: False, True),
          ``tied_head`` (False, True), ``small_initialisation`` (False, True), ``decay``
          (weight decay: 0, 0.1), ``layers`` (2, 4), ``width`` (32, 64), ``steps`` (280,
          560), and ``facts`` (number ``N`` of subjects: 10, 20).
        - Measure: ``accuracy`` (:func:`inweights.probes.accuracy`).

        The labels contain the values before their division by ``shrink``.

    Raises:
        ConfigError: ``shrink`` is below 1, or too large for the model.
    """
    check_size("shrink", settings.shrink)
    levels = design()
    trials = []
    for cell in range(CELLS):
        chosen = {name: FACTORS[name][levels[name][cell] > 0] for name in FACTORS}
        trials.append(_trial(cell, chosen, settings.shrink))
    return Plan(trials=trials, measures=[iw.probes.accuracy])


def _trial(cell: int, chosen: Mapping[str, Any], shrink: int) -> Trial:
    width = chosen["width"] // shrink
    model = iw.GPTConfig(
        layers=max(1, chosen["layers"] // shrink),
        width=width,
        tied=chosen["tied head"],
        init=iw.Init(gamma=1.25) if chosen["small initialisation"] else iw.Init(),
    )
    phase = iw.Phase(
        steps=chosen["steps"] // shrink**2,
        random_offset=chosen["random offset"],
        schedule=iw.Schedule(kind="cosine"),
        optimizer=iw.Optimizer(
            rate=chosen["rate"] * 0.064 / width, weight_decay=chosen["decay"]
        ),
    )
    return Trial(
        labels={
            "cell": cell,
            **{name.replace(" ", "_"): chosen[name] for name in FACTORS},
        },
        world=iw.TwoHop(n=max(2, chosen["facts"] // shrink)),
        model=model,
        learner=Curriculum(phases=(phase,)),
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the effect of each factor for each seed, and the share of variance that it explains.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`) with the
            columns ``cell, rate, random_offset, tied_head, small_initialisation, decay,
            layers, width, steps, facts, seed, part, role, distribution, statements,
            accuracy, accuracy_among, chance, loss, right_answers``. The labels are
            ``cell`` (0 to 31) and the value of each factor in the cell: ``rate``
            (learning rate, as a multiple of 0.064 / width: 0.5, 2), ``random_offset``
            (whether positions have a random offset: False, True), ``tied_head`` (False,
            True), ``small_initialisation`` (False, True), ``decay`` (weight decay: 0,
            0.1), ``layers`` (2, 4), ``width`` (32, 64), ``steps`` (280, 560), and
            ``facts`` (number ``N`` of subjects: 10, 20). Accuracies and recall are
            fractions from 0 to 1.

    Returns:
        - ``composed``: a row per run, with the accuracy on the compositions. Columns:
          all columns of ``accuracy``.
        - ``recall``: a row per run, with ``recall``, the lowest accuracy over the roles
          (kinds) of facts. Columns: ``cell, seed, recall``.
        - ``effects``: a row per term (a factor, or a pair of factors; ``order`` is 1 or
          2) and seed: mean accuracy of the cells at the high level minus the mean
          accuracy of the cells at the low level. If several pairs have the same column
          in the design, only the first one is listed. Columns: ``term, order, seed,
          effect``.
        - ``main_effects``: the rows of ``effects`` for individual factors. Columns:
          ``term, order, seed, effect, what``.
        - ``shares``: a row per term, largest first: ``share`` of the variance between
          cells that it explains, with ``low`` and ``high``, the ends of its 95%
          interval from resampled seeds. Columns: ``term, order, share, low, high``.
        - ``shares_by_seed``: a row per seed and each of the 12 largest terms: the same
          share, within this seed. Columns: ``term, seed, share, what``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    queries = compositions(tables["accuracy"])
    known = where_known(queries, tables["accuracy"], ["cell"])
    effects = _effects(queries)
    return {
        "composed": queries,
        "recall": known.select("cell", "seed", "recall"),
        "effects": effects,
        "main_effects": effects.filter(order=1).with_columns(what=pl.lit("settings")),
        "shares": _shares(effects),
        "shares_by_seed": _shares_by_seed(effects),
    }


def _effects(queries: pl.DataFrame) -> pl.DataFrame:
    """Return the mean accuracy at the high minus the low level, for factors and pairs, by seed."""
    levels = design()
    terms: dict[tuple[str, ...], Any] = {
        (name,): np.array(column) for name, column in levels.items()
    }
    seen = {tuple(column.tolist()) for column in terms.values()}
    for pair in combinations(FACTORS, 2):
        product = np.array(levels[pair[0]]) * np.array(levels[pair[1]])
        # Of pairs with the same column, which cannot be distinguished, only the first
        # is named.
        if tuple(product.tolist()) not in seen:
            seen.add(tuple(product.tolist()))
            terms[pair] = product
    rows = []
    for (seed,), part in queries.group_by(["seed"], maintain_order=True):
        part = part.sort("cell")  # noqa: PLW2901
        cells = part["cell"].to_numpy()
        answers = part["accuracy"].to_numpy()
        for term, signs in terms.items():
            rows.append(
                (
                    " × ".join(term),
                    len(term),
                    seed,
                    float(2 * np.mean(signs[cells] * answers)),
                )
            )
    return pl.DataFrame(rows, schema=["term", "order", "seed", "effect"], orient="row")


def _shares(effects: pl.DataFrame) -> pl.DataFrame:
    """Return the share of the variance between cells that each term explains, with an interval."""
    wide = effects.pivot(on="term", index="seed", values="effect").sort("seed")
    names = wide.columns[1:]
    values = wide.drop("seed").to_numpy()
    order = dict(effects.select("term", "order").unique().rows())
    squares = values.mean(0) ** 2
    total = squares.sum() or 1.0
    rng = Streams(0).numpy("bootstrap", "what-decides")
    # Seeds are resampled rather than cells, because the cells are fixed by the design,
    # and each cell is trained with every seed.
    picked = values[rng.integers(len(values), size=(DRAWS, len(values)))].mean(1) ** 2
    # If all effects of a resampling are 0, its shares are 0 rather than NaN.
    resampled = picked / np.maximum(picked.sum(1, keepdims=True), 1e-12)
    low, high = np.quantile(resampled, [0.025, 0.975], axis=0)
    table = pl.DataFrame(
        {"term": names, "order": [order[n] for n in names], "share": squares / total}
    )
    return table.with_columns(low=pl.Series(low), high=pl.Series(high)).sort(
        "share", descending=True
    )


def _shares_by_seed(effects: pl.DataFrame, most: int = 12) -> pl.DataFrame:
    """Return shares of variance within each seed, for the terms that explain most overall."""
    square = pl.col("effect") ** 2
    whole = square.sum().over("seed")
    share = pl.when(whole > 0).then(square / whole).otherwise(0.0)
    table = effects.select(
        "term", "seed", share=share, what=pl.lit("settings and pairs")
    )
    means = table.group_by("term", maintain_order=True).agg(pl.col("share").mean())
    largest = (
        means.sort("share", descending=True, maintain_order=True)
        .head(most)
        .drop("share")
    )
    short = (
        pl.col("term")
        .str.replace(" initialisation", " init")
        .str.replace("random ", "")
    )
    return largest.join(table, on="term", maintain_order="left_right").with_columns(
        short
    )


effect = number("effects", "effect")

SCORES = {
    "random-offset-helps": effect.at(term="random offset") >= 0.1,
    "layers-help": effect.at(term="layers") >= 0.1,
    "tied-head-hurts": effect.at(term="tied head") <= -0.05,
    "rate-helps": effect.at(term="rate") >= 0.1,
    "facts-are-known": number("recall", "recall").over("cell") >= 0.99,
}

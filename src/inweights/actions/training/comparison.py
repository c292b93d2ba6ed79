"""Define the comparison of ways of teaching as a recipe that is stored, resumed and drawn.

``inweights compare-training`` runs the recipe of :func:`training_recipe`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from msgspec import structs

from inweights.actions.training.costs import Size
from inweights.actions.training.pairs import pairs_of, say_pairs
from inweights.actions.training.settings import WAYS, WORDS, TrainingSettings
from inweights.actions.training.teaching import teach_and_ask
from inweights.config import decode
from inweights.experiments import Computation, Figure, Plan, Recipe
from inweights.lm.exams.compare import ALL_HELD_OUT, GROUPS, HELD_OUT
from inweights.lm.model.load import TINY
from inweights.support.extras import check_extra
from inweights.support.progress import plural

#: Groups of questions in the order of the tables. The group of all held-out questions
#: follows the groups of stated questions.
_ORDER = (*GROUPS[:3], ALL_HELD_OUT, *GROUPS[3:])
_FIXED = ("untrained", "retrieval")
#: Fraction of known facts below which the facts count as not learnt, and the ratio of
#: perplexities (after training to before) from which earlier knowledge counts as
#: damaged.
_KNOWN = 0.9
_GROWN = 1.5


def training_recipe(
    name: str,
    settings: TrainingSettings | Mapping[str, Any],
    sizes: Sequence[Size] = (),
) -> Recipe:
    """Return a recipe that compares ways of teaching facts.

    Args:
        name: Name of the recipe, ``training/<name>``.
        settings: Settings of the comparison, or a mapping of their plain values, as
            stored in a run.
        sizes: Cost of each way, which determines its share of the progress bar; by
            default all ways have the same share.

    Returns:
        A recipe with the scale ``cpu``, 3 seeds (one for ways without training) and no
        claims. Running it raises a ConfigError if an optional package is not installed.

    Raises:
        ConfigError: ``settings`` is a mapping of invalid values.
    """
    own = (
        settings
        if isinstance(settings, TrainingSettings)
        else decode(TrainingSettings, settings)
    )
    ways = "; ".join(f"{way}: {WAYS[way]}" for way in own.ways)
    by_way = {size.way: size for size in sizes}
    return Recipe(
        name=name,
        title=f"Ways to give a model facts: {Path(own.facts.name).name}",
        paper="Facts of one's own",
        version=2,
        place=own.facts.name,
        summary=f"{' '.join(WORDS['summary'].split())} {ways}.",
        scales={"cpu": own},
        seeds={"cpu": 3},
        plan=lambda settings: _plan(settings, by_way),
        derive=_derive,
        figures=[_figure(table, words) for table, words in WORDS["figures"].items()],
        first_seed=0,
        cautions=_cautions,
        results=_results,
    )


def _figure(table: str, words: Mapping[str, Any]) -> Figure:
    """Return a figure with one panel per measured quantity, which shows the ways side by side."""
    drawn = {
        "axis": "what",
        "value": "way",
        "y": "value",
        "y_label": words["unit"],
        "columns": 3,
    }
    if words["unit"] == "share":
        drawn["y_limits"] = (0.0, 1.0)
    said = {"title": words["title"], "caption": words["caption"]}
    return Figure(
        id=table,
        kind="sweeps",
        sources=(table,),
        options=drawn,
        **said,
    )


def _plan(settings: TrainingSettings, sizes: Mapping[str, Size]) -> Plan:
    """Return a plan with one task per way; a way that uses random numbers gets several seeds."""
    check_extra("hf", "a language model")
    if "retrieval" in settings.ways:
        check_extra("retrieval", "the way 'retrieval'")
    whole = structs.replace(settings, ways=tuple(WAYS))
    return Plan(
        computations=[
            Computation(
                name="measured",
                labels={"way": way},
                compute=teach_and_ask,
                options={"settings": whole, "way": way},
                seeded=way not in _FIXED or settings.model.name == TINY,
                uniform=True,
                **_expected(sizes.get(way)),
            )
            for way in settings.ways
        ]
    )


def _expected(size: Size | None) -> dict[str, Any]:
    """Return the weight of a way in the progress display (milliseconds), and its stages' shares."""
    training = size.preparation + size.training if size else 4.0
    asking = size.asking if size else 1.0
    whole = training + asking
    parts = {
        "training": training,
        "asking": asking / 2,
        "answering in words": asking / 2,
    }
    stages = {stage: part / whole for stage, part in parts.items()}
    return {"effort": max(1, round(1000 * whole)), "stages": stages}


def _derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the tables for figures, and means over seeds with one column per way."""
    pairs = pairs_of(tables["measured"])
    # Rows of single answers are left out here, as the table ``pairs`` contains them.
    # Names other than those of groups come last.
    order = pl.col("name").cast(pl.Enum(_ORDER), strict=False)
    shares = tables["measured"].filter(~pl.col("kind").str.starts_with("answered"))
    measured = shares.sort(order, nulls_last=True, maintain_order=True)
    # A group of questions may have a different size for each way, since it depends on
    # which facts are known.
    n = pl.col("n")
    one = pl.col("kind").is_in(["accuracy", "in words"]) & (
        n.n_unique().over("kind", "name") == 1
    )
    what = (
        pl.when(one)
        .then(pl.format("{} (of {})", "name", n))
        .otherwise("name")
        .alias("what")
    )
    columns = ("way", "seed", what, "value", "n")
    drawn = {
        table: measured.filter(kind=words["kind"]).select(columns)
        for table, words in WORDS["figures"].items()
    }
    means = measured.group_by("kind", "name", "way", maintain_order=True).agg(
        pl.mean("value")
    )
    ways = tables["measured"]["way"].unique(maintain_order=True)
    overview = means.pivot("way", index=["kind", "name"], values="value")
    overview = overview.select("kind", "name", *ways)
    return {**drawn, "pairs": pairs, "overview": overview}


def _results(
    settings: TrainingSettings, tables: Mapping[str, pl.DataFrame]
) -> list[str]:
    """Return sentences that state what was compared, and the range of the means."""
    measured = tables["measured"]
    overview = tables["overview"]
    means = {(kind, name): values for kind, name, *values in overview.rows()}
    asked = dict(measured.filter(kind="accuracy").select("name", "n").rows())
    seeds = plural(measured["seed"].n_unique(), "seed")

    def ends(kind: str, name: str, form: str = ".0%") -> str:
        shown: dict[str, list[str]] = {}
        pairs = zip(means[kind, name], overview.columns[2:], strict=True)
        for value, way in sorted(pairs, key=lambda pair: -pair[0]):
            shown.setdefault(f"{value:{form}}", []).append(f"'{way}'")
        most, *others = [f"{text} ({', '.join(ways)})" for text, ways in shown.items()]
        return (
            f"from {others[-1]} to {most}" if others else f"{next(iter(shown))} (all)"
        )

    return [
        f"Compared: {', '.join(settings.ways)}, with {settings.model.name} and {seeds} for each "
        "way with training. Numbers are means over seeds.",
        *(
            f"{name[:1].upper()}{name[1:]} ({plural(asked[name], 'question')}). Among candidates: "
            f"{ends('accuracy', name)}. In words: {ends('in words', name)}."
            for name in _ORDER
            if name in asked and name not in HELD_OUT
        ),
        *(say_pairs(tables["pairs"]) if "pairs" in tables else []),
        f"Earlier knowledge. Plain questions: {ends('kept', 'plain questions')}. Perplexity of "
        f"plain text, lower is better: {ends('language', 'perplexity', '.1f')}.",
        f"Cost. Minutes of training per seed: {ends('minutes', 'training', '.1f')}. Tokens per "
        f"question: {ends('cost', 'question', '.0f')}.",
    ]


def _cautions(
    settings: TrainingSettings, tables: Mapping[str, pl.DataFrame]
) -> list[str]:
    """Return warnings about facts that were not learnt and about lost knowledge."""
    means = (
        tables["measured"].group_by("way", "kind", "name").agg(pl.mean("value")).rows()
    )
    found = []
    value = {(way, kind, name): mean for way, kind, name, mean in means}
    before = value.get(("untrained", "language", "perplexity"), float("inf"))
    for way in (way for way in settings.ways if way not in _FIXED):
        known = value[way, "accuracy", "facts"]
        now = value[way, "language", "perplexity"]
        if known < _KNOWN:
            found.append(
                f"With '{way}', only {known:.0%} of the facts are known. Its other numbers "
                f"therefore show only the effect of {settings.tuning.epochs} epochs "
                "(--set tuning.epochs=N)."
            )
        if now >= _GROWN * before:
            found.append(
                f"'{way}' damaged earlier knowledge: perplexity of plain text rose from "
                f"{before:.1f} to {now:.1f} (--set tuning.replay=2, or a lower rate)."
            )
    return found

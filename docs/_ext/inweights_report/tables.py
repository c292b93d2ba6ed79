"""Build the tables of the reports, as lines of Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import polars as pl
from inweights_site.text import table, words

from inweights.experiments.claims.claim import LOST, SIGNS, VERDICTS
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.grammar.protocols.protocol_file import (
    PaperSetting,
    in_words,
)
from inweights.recipes import get_recipe
from inweights_report.evidence import Evidence
from inweights_report.numbers import interval, met, spread

__all__ = ["TABLES", "spread_of"]

_POSITIONS = "beyond/positions-decide"
_MARKS = dict(zip(VERDICTS, "✓≈✗≉?–", strict=True))

#: Rows of the table of text and code: part of the protocol, setting, and its description.
_STATED = (
    ("Path-star in the weights", "model.positions", "positions"),
    ("Path-star in the weights", "model.position_std", "positions start with std"),
    ("Every training", "model.init.std", "other weights start with std"),
    ("Every training", "model.tied", "head tied to the embeddings"),
    (
        "Every training",
        "model.depth_scaled",
        "what writes into the stream starts smaller",
    ),
    ("Path-star with Mamba", "model.residual", "Mamba: residual stream"),
    ("Path-star with Mamba", "model.norm", "Mamba: norm before a block"),
    ("Path-star with Mamba", "model.final_norm", "Mamba: norm at the end"),
    ("Path-star with Mamba", "model.convolution", "Mamba: convolution starts"),
    ("Path-star with Mamba", "model.first_steps", "Mamba: first steps Δ"),
    ("Path-star in the weights", "world.arms", "arms of the path-star"),
    ("Path-star in the weights", "world.nodes", "nodes of a path"),
    ("Path-star in the weights", "world.train", "share of paths that are trained"),
    ("Path-star in the weights", "model.layers", "layers"),
    ("Path-star in the weights", "model.width", "width"),
    ("Path-star in the weights", "learner.phases.*.optimizer.rate", "rate"),
    (
        "Path-star in the weights",
        "learner.phases.*.optimizer.weight_decay",
        "weight decay",
    ),
    ("Path-star in the weights", "learner.phases.*.steps", "updates"),
)

_SHORT = {"identity-bridge": "IB", "feature-resemblance": "FR"}

#: Rows of the table of settings, each with its description.
_SETTINGS = {
    "world.arms": "arms",
    "world.nodes": "nodes of a path",
    "world.train": "share of paths that are trained",
    "world.pauses": "pause tokens",
    "world.edges": "directions of the edges",
    "world.rows": "rows and columns",
    "model.layers": "layers",
    "model.width": "width",
    "model.heads": "heads",
    "model.state": "size of Mamba's state",
    "model.init.std": "start of weights, std",
    "learner.phases.0.optimizer.kind": "optimizer",
    "learner.phases.0.optimizer.rate": "rate",
    "learner.phases.0.optimizer.betas": "β₁, β₂",
    "learner.phases.0.optimizer.weight_decay": "weight decay",
    "learner.phases.0.schedule.kind": "schedule, to 0 at the end",
    "learner.phases.0.schedule.warmup": "steps of warm-up",
    "learner.phases.0.schedule.hold": "share of steps before the rate falls",
    "learner.phases.0.steps": "updates",
    "learner.phases.0.batch.path": "trained paths in a step",
    "learner.phases.0.loss": "loss",
    "learner.phases.0.precision": "precision",
}
_COLUMNS = (
    {"world": "path-star", "model": "GPT"},
    {"world": "path-star", "model": "Mamba"},
    {"world": "grid", "model": "GPT"},
    {"world": "grid", "model": "Mamba"},
)


def _text_and_code(evidence: Evidence) -> Iterator[str]:
    """Return a table of settings in the paper, in its code, and in the library's runs."""
    rows = []
    for part, leaf, name in _STATED:
        stated = evidence.stated("geometric-memory", part, leaf)
        model = {"model": "Mamba"} if name.startswith("Mamba") else {"model": "GPT"}
        here = evidence.setting(
            _POSITIONS, leaf.replace("*", "0"), world="path-star", **model
        )
        if leaf == "model.position_std":
            here = here.replace("none", "as other weights")
        rows.append(
            [words(name), words(_text(stated)), words(_code(stated)), words(here)]
        )
    return table(["", "the text", "the code", "here"], rows)


def _text(stated: PaperSetting) -> str:
    """Return the value of a setting in the text, with its place."""
    if stated.unstated:
        return "not stated"
    if stated.lost:
        return f"lost in the text at hand ({stated.lost})"
    value = "any" if stated.every else in_words(stated.paper)
    return f"{value} ({stated.place})"


def _code(stated: PaperSetting) -> str:
    """Return the value of a setting in the code, with its place."""
    if stated.code is None:
        return "–"
    place = stated.at.partition(":")[0] if len(stated.at) > 40 else stated.at
    return f"{in_words(stated.code)} ({place})"


def _settings(evidence: Evidence) -> Iterator[str]:
    """Return a table of the settings of the judged run, from its configs."""
    rows = []
    for leaf, name in _SETTINGS.items():
        cells = [evidence.setting(_POSITIONS, leaf, **labels) for labels in _COLUMNS]
        if leaf == "world.arms" or leaf == "world.nodes":
            cells[2:] = ["", ""]
        rows.append([words(name), *(words(cell) or "–" for cell in cells)])
    head = ["", *(f"{one['world']}, {one['model']}" for one in _COLUMNS)]
    return table(head, rows)


def _ends(evidence: Evidence) -> Iterator[str]:
    """Return the final scores of each condition on the path-star: median and range over seeds."""
    final = evidence.stored("positions-decide", "final")
    rows = []
    for (model, condition), part in final.group_by(
        "model", "condition", maintain_order=True
    ):
        cells = [
            spread(part[column])
            for column in ("ratio", "began", "hardest", "trained", "nearest")
        ]
        rows.append([words(f"{model}, {condition}"), *map(words, cells)])
    head = ["", "ρ", "share", "hardest, held out", "trained paths", "nearest"]
    return table(head, rows)


def _claims(evidence: Evidence, recipe: str, source: str = "") -> Iterator[str]:
    """Return a table of every claim of a recipe, with its interval and verdict."""
    rows = [
        [
            words(claim.text),
            words(_target(claim)),
            words(interval(claim)),
            met(claim),
            f"{_MARKS[claim.verdict]} {claim.shown}",
        ]
        for claim in evidence.chosen(recipe=recipe, source=source)
    ]
    return table(["claim", "target", "measured", "seeds", "verdict"], rows)


def _central(evidence: Evidence, *names: str) -> Iterator[str]:
    """Return a table of the named claims of a paper, with place and sign of the protocol."""
    rows = [_row(evidence.claim(name)) for name in names]
    return table(
        ["claim of the paper", "printed", "measured", "seeds", "verdict"], rows
    )


def _row(claim: ClaimResult) -> list[str]:
    place = words(f"({claim.place})")
    return [
        f"{words(claim.text)} {place}",
        words(_published(claim)),
        words(interval(claim)),
        met(claim),
        words(_verdict(claim)),
    ]


def _verdict(claim: ClaimResult) -> str:
    """Return the sign of the protocol, followed by the verdict with its mark."""
    sign = SIGNS[claim.protocol] if claim.protocol else ""
    return f"{sign} {_MARKS[claim.verdict]} {claim.verdict}".strip()


def _target(claim: ClaimResult) -> str:
    return claim.target.text.replace("-", "−")


def _published(claim: ClaimResult) -> str:
    """Return the number that the paper prints, or a dash if it prints none."""
    if not claim.published:
        return "–"
    _, said = claim.number
    short = {"none printed": "–", "relation": "–", LOST: "lost"}
    return short.get(said, said)


def _against(evidence: Evidence, source: str) -> Iterator[str]:
    """Return a table of every claim of a paper that did not hold."""
    claims = [
        claim
        for verdict in ("not reproduced", "not seen in a substitute")
        for claim in evidence.chosen(source=source, verdict=verdict)
    ]
    rows = [
        [
            words(f"{claim.text} ({claim.place})"),
            words(_target(claim)),
            words(interval(claim)),
            met(claim),
            words(_verdict(claim)),
        ]
        for claim in claims
    ]
    return table(["claim", "target", "measured", "seeds", "verdict"], rows)


def _by_protocol(evidence: Evidence, *sources: str) -> Iterator[str]:
    """Return the number of verdicts for each sign of the protocol, for the given papers."""
    shown = [verdict for verdict in VERDICTS if verdict != "not judged"]
    rows = []
    for source in sources:
        for protocol, sign in SIGNS.items():
            numbers = [
                str(
                    evidence.count(source=source, protocol=protocol, verdict=verdict)
                    or "–"
                )
                for verdict in shown
            ]
            name = f"{source}, " if len(sources) > 1 else ""
            rows.append([words(f"{name}{sign} {protocol}"), *numbers])
    return table(["", *(f"{_MARKS[verdict]} {verdict}" for verdict in shown)], rows)


def _costs(evidence: Evidence, *recipes: str) -> Iterator[str]:
    """Return a table of commands, each with its content and its running time."""
    rows = []
    for recipe in recipes:
        seeds = max(claim.replicates for claim in evidence.chosen(recipe=recipe))
        rows.append(
            [
                f"`inweights run {recipe}`",
                words(get_recipe(recipe).title),
                str(evidence.count(recipe=recipe)),
                str(seeds),
                evidence.cost(recipe),
            ]
        )
    return table(["command", "what it runs", "claims", "seeds", "cost"], rows)


def _every(evidence: Evidence, *sources: str) -> Iterator[str]:
    """Return the claims of the given papers, including checks, with a row for each recipe."""
    chosen = [claim for claim in evidence.board.claims if claim.source in sources]
    # The recipes of a paper first, then others that judge its claims.
    chosen.sort(key=lambda claim: (sources.index(claim.source), _place(claim)))
    rows = []
    for recipe, judged in groupby(chosen, lambda claim: claim.id.rpartition("/")[0]):
        claims = list(judged)
        seeds = {claim.replicates for claim in claims if claim.low is not None}
        numbers = sorted({min(seeds), max(seeds)}) if seeds else []
        name = recipe
        for paper, short in _SHORT.items():
            name = name.replace(f"{paper}/", f"{short}/")
        entries = ";\u2003".join(map(_entry, claims))
        rows.append([f"`{name}`", " to ".join(map(str, numbers)) or "–", entries])
    return table(["recipe", "seeds", "claims"], rows)


def _entry(claim: ClaimResult) -> str:
    """Return the verdict, name and number of a claim, and its sentence if it did not hold."""
    sign = SIGNS[claim.protocol] if claim.protocol else ""
    name = claim.id.rpartition("/")[2]
    parts = [words(f"{sign}{_MARKS[claim.verdict]}\u00a0") + f"`{name}`"]
    if claim.check:
        parts.append("(a check)")
    if claim.verdict in ("not reproduced", "not seen in a substitute"):
        parts.append(words(f"({claim.text.rstrip('.')})"))
    if claim.measured is not None:
        parts.append(words(interval(claim)))
    if (printed := _published(claim)) not in ("–", "lost"):
        parts.append(words(f"(printed {printed})"))
    return " ".join(parts)


def _place(claim: ClaimResult) -> tuple[bool, str]:
    """Return a key that sorts claims by recipe; recipes of the paper come first."""
    recipe = claim.id.rpartition("/")[0]
    return not recipe.startswith(claim.source), recipe


def spread_of(frame: pl.DataFrame, column: str) -> str:
    """Return the median of a column with the smallest and the largest value."""
    return spread(frame[column])


TABLES: dict[str, Callable[..., Iterator[str] | Sequence[str]]] = {
    "text-and-code": _text_and_code,
    "settings": _settings,
    "ends": _ends,
    "claims": _claims,
    "central": _central,
    "against": _against,
    "by-protocol": _by_protocol,
    "costs": _costs,
    "every": _every,
}

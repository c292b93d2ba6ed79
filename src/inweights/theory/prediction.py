"""Which unseen questions will a model answer? A forecast from the facts alone, before training.

The forecast is that of a model without attention (Emb-MLP, whose training has the implicit bias
of program (2), Identity Bridge §4.3): where it is wrong for another model, that is a finding. See
the recipe ``beyond/predicted-composition`` for how well it does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import polars as pl

from inweights.errors import ConfigError
from inweights.progress import SolverProgress
from inweights.theory.margin_bounds import margin_bounds
from inweights.theory.nuclear_norm import Solution, solve
from inweights.theory.program import Answers, Program
from inweights.worlds.registry import WorldConfig
from inweights.worlds.world import World

__all__ = ["Advice", "Prediction", "bridges", "predict", "predicted_queries"]

#: Solutions that are spent on making the advice cheaper.
TRIALS = 8

_SUMMARY = (
    pl.len().alias("queries"),
    (pl.col("verdict") == "follows").sum().alias("follow"),
    (pl.col("verdict") == "tied").sum().alias("tied"),
    (pl.col("verdict") == "fails").sum().alias("fail"),
    pl.col("expected").mean(),
    pl.col("margin").min().alias("least_margin"),
    pl.col("margin").median().alias("median_margin"),
)


@dataclass(frozen=True, eq=False)
class Advice:
    """Identities that would make failing queries follow, verified by solving again.

    Attributes:
        identities: Tokens ``b`` whose identity ``b → b`` should be added.
        mended: Queries that fail or are tied now, and would follow.
        open: Queries that fail or are tied, and still would.
        broken: Queries that follow now, and no longer would.
        status: Status of the solution that verified it.
        gap: Its certified gap.
        solutions: How many programs were solved to find it.
    """

    identities: tuple[str, ...]
    mended: tuple[int, ...]
    open: tuple[int, ...]
    broken: tuple[int, ...]
    status: str
    gap: float
    solutions: int


@dataclass(frozen=True, eq=False)
class Prediction:
    """A forecast for every query of a world.

    Attributes:
        solution: The certified optimum that it rests on.
        queries: One row a query: ``query`` (its index), ``prompt``, ``answer``, ``predicted``
            (the output with the largest logit), ``margin`` (normalised: the least of all facts is
            1), ``verdict`` (``follows``, ``tied``, ``fails``), ``tied`` (number of outputs within
            the tolerance of the largest), ``expected`` (expected accuracy: 1 over ``tied`` where
            the answer is among them), ``role``, ``pattern``, ``out_of_distribution``.
        advice: What to add, where something fails and identities can help.
    """

    solution: Solution
    queries: pl.DataFrame
    advice: Advice | None = field(default=None)

    def summary(self, by: Sequence[str] = ("role", "pattern")) -> pl.DataFrame:
        """Counts, expected accuracy and margins of the queries by some of their columns."""
        return self.queries.group_by(list(by), maintain_order=True).agg(*_SUMMARY)

    def with_intervals(
        self,
        accuracy: float | None = 0.02,
        *,
        queries: Sequence[int] | None = None,
        tie: float = 0.02,
        seconds: float | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Prediction:
        """Return the forecast with the columns ``lower``, ``upper`` and ``proved`` of its queries.

        The interval holds the query's margin at every optimum; the arguments are those of
        :func:`~inweights.theory.margin_bounds`. Queries that are not asked for have none.

        Example:
            >>> from inweights.worlds import TwoHop
            >>> forecast = predict(TwoHop(n=3).build(), advise=False)
            >>> forecast.with_intervals(None, queries=[0]).queries["proved"].to_list()
            ['follows', None, None]
        """
        bounds = margin_bounds(
            self.solution, queries=queries, accuracy=accuracy, tie=tie, seconds=seconds,
            progress=progress,
        ).drop("margin")  # fmt: skip
        table = self.queries.join(bounds, on="query", how="left", maintain_order="left")
        return replace(self, queries=table)


def predict(
    world: World,
    *,
    answers: Answers = "one",
    gap: float = 1e-3,
    seconds: float | None = None,
    iterations: int = 20_000,
    tie: float = 0.02,
    advise: bool = True,
    progress: SolverProgress | None = None,
) -> Prediction:
    """Predict for every query of a world whether its answer follows from the facts.

    Args:
        world: Facts and queries with answers of one token.
        answers: Whether a prompt may have ``several`` right answers, or ``one``.
        gap: Certified gap asked of every solution.
        seconds: Time limit of every solution.
        iterations: Iteration limit of every solution.
        tie: Margins of at most this size, up or down, are ties. A gap bounds the norm and no
            margin; at 1e-3 some are off by far more. :meth:`Prediction.with_intervals` says
            how far each is known.
        advise: Whether to look for identities that mend failing queries.
        progress: Told about every solution.

    Raises:
        ConfigError: An option cannot be.
        DataError: The facts contradict each other or have answers of several tokens.
        SolverError: The facts exclude each other.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> forecast = predict(TwoHop(n=3, identity=False).build())
        >>> forecast.queries["verdict"].to_list(), forecast.advice.identities
        (['fails', 'fails', 'fails'], ('b1', 'b2', 'b3'))
        >>> predict(TwoHop(n=3, identity=True).build()).queries["predicted"].to_list()
        ['c1', 'c2', 'c3']
    """
    if not 0 <= tie < 1:
        raise ConfigError(f"tie is from 0 to below 1 (the margin of the facts), not {tie}")

    def forecast(of: World, what: str) -> tuple[Solution, pl.DataFrame]:
        tell = (lambda step, now: progress(what, step, now)) if progress else None
        solution = solve(
            Program.of(of, answers), gap=gap, seconds=seconds, iterations=iterations, progress=tell
        )
        return solution, _table(solution, tie)

    solution, queries = forecast(world, "facts as they are")
    advice = _advise(world, queries, forecast) if advise else None
    return Prediction(solution, queries, advice)


def predicted_queries(
    world: WorldConfig, *, seed: int = 0, answers: Answers = "one", gap: float = 1e-3
) -> pl.DataFrame:
    """Return the forecast for the queries of a world from its config, as :func:`predict` does.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> predicted_queries(TwoHop(n=3, identity=True))["verdict"].to_list()
        ['follows', 'follows', 'follows']
    """
    return predict(world.build(seed), answers=answers, gap=gap, advise=False).queries


def bridges(world: World) -> list[tuple[int, int]]:
    """Return ``(query, bridge)`` for every query that chains two facts.

    A query chains two facts over the bridge ``b`` when a part of its prompt is the prompt of a
    fact with answer ``b``, and ``b`` with the rest is that of a fact with the query's answer.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=2).build()
        >>> [(query, world.vocabulary.names[bridge]) for query, bridge in bridges(world)]
        [(0, 'b1'), (1, 'b2')]
    """
    facts, queries = world.facts, world.queries
    known: dict[tuple[int, ...], set[int]] = {}
    for i in range(len(facts)):
        bag = tuple(sorted(facts.prompt(i).tolist()))
        known.setdefault(bag, set()).add(int(facts.answer(i)[0]))
    found: list[tuple[int, int]] = []
    for query in range(len(queries)):
        tokens, answer = sorted(queries.prompt(query).tolist()), int(queries.answer(query)[0])
        parts = {p for k in range(1, len(tokens)) for p in combinations(tokens, k)}
        links = set()
        for part in parts:
            rest = (Counter(tokens) - Counter(part)).elements()
            for bridge in known.get(part, ()):
                if answer in known.get(tuple(sorted([bridge, *rest])), ()):
                    links.add(bridge)
        found.extend((query, bridge) for bridge in sorted(links))
    return found


def _table(solution: Solution, tie: float) -> pl.DataFrame:
    world = solution.program.world
    queries, words = world.queries, world.vocabulary
    margins = solution.margins(queries)
    logits, columns, rivals = solution.compare(queries)
    rows = np.arange(len(queries))
    rivals[rows, columns] = True  # one answer against all that are wrong
    near = rivals & (logits >= np.where(rivals, logits, -np.inf).max(1, keepdims=True) - tie)
    tied = near.sum(1)
    best = world.outputs[logits.argmax(1)]
    verdict = np.where(margins > tie, "follows", np.where(margins < -tie, "fails", "tied"))
    return pl.DataFrame(
        {
            "query": rows,
            "prompt": [words.text(queries.prompt(i)) for i in range(len(rows))],
            "answer": [words.names[t] for t in queries.answers],
            "predicted": [words.names[t] for t in best],
            "margin": margins,
            "verdict": verdict.astype(str),
            "tied": tied,
            "expected": near[rows, columns] / np.maximum(tied, 1),
            "role": [queries.role_names[r] for r in queries.roles],
            "pattern": _patterns(world),
            "out_of_distribution": queries.out_of_distribution,
        },
        schema_overrides={"prompt": pl.String, "answer": pl.String, "predicted": pl.String,
                          "role": pl.String, "pattern": pl.String},
    )  # fmt: skip


def _patterns(world: World) -> list[str]:
    """The form of every query: relations by name, other tokens by their group."""
    shown = {
        token: token if group.endswith("relation") else group
        for group, tokens in world.vocabulary.groups.items()
        for token in tokens
    }
    names, queries = world.vocabulary.names, world.queries
    return [
        " ".join(shown[names[t]] for t in queries.prompt(i))
        + " → "
        + shown[names[queries.answer(i)[0]]]
        for i in range(len(queries))
    ]


def _advise(
    world: World,
    queries: pl.DataFrame,
    forecast: Callable[[World, str], tuple[Solution, pl.DataFrame]],
) -> Advice | None:
    """Find few identities that mend what fails: all that could help, then fewer while it holds."""
    known = {
        int(world.facts.answer(i)[0])
        for i in range(len(world.facts))
        if world.facts.prompt(i).tolist() == world.facts.answer(i).tolist()
    }
    follows = set(queries.filter(pl.col("verdict") == "follows")["query"].to_list())
    chains = [(q, b) for q, b in bridges(world) if q not in follows and b not in known]
    everything = list(dict.fromkeys(b for _, b in chains))
    if not everything:
        return None
    solved = 0

    def attempt(tokens: Sequence[int]) -> tuple[Solution, set[int]]:
        nonlocal solved
        solved += 1
        column = np.asarray(tokens, dtype=np.int64)[:, None]
        more = world.with_facts("identity", column, column)
        solution, table = forecast(more, f"with {len(tokens)} identities")
        return solution, set(table.filter(pl.col("verdict") == "follows")["query"].to_list())

    solution, after = attempt(everything)
    kept, goal = everything, after - follows
    size = len(kept) // 2
    while goal and size and solved < TRIALS:
        for start in range(0, len(kept), size):
            fewer = [*kept[:start], *kept[start + size :]]
            if not fewer or solved >= TRIALS:
                break
            trial, then = attempt(fewer)
            if goal <= then:
                kept, solution, after = fewer, trial, then
                break
        else:
            size //= 2
    everyone = set(queries["query"].to_list())
    return Advice(
        identities=tuple(world.vocabulary.names[b] for b in kept) if goal else (),
        mended=tuple(sorted(after - follows)),
        open=tuple(sorted(everyone - follows - after)),
        broken=tuple(sorted(follows - after)) if goal else (),
        status=solution.status,
        gap=solution.gap,
        solutions=solved,
    )

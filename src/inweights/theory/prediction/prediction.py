"""Represent predictions for all queries of a world, with the solutions that they are read from.

:func:`inweights.predict` returns a :class:`Prediction`. Its summaries, probabilities and
intervals are printed by the commands and pages of ``audit``.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import polars as pl

from inweights.errors import ConfigError
from inweights.support.showing import Card
from inweights.theory.prediction.advice import Advice, in_time
from inweights.theory.prediction.bounds.margin_bounds import margin_bounds
from inweights.theory.prediction.calibration.features import query_features
from inweights.theory.prediction.calibration.fitted import (
    MODELS,
    UNCALIBRATED,
    Nearest,
    calibration,
    outlook,
)
from inweights.theory.prediction.remedies import Remedy
from inweights.theory.prediction.tables import Solved, comparable_margin
from inweights.theory.programs.nuclear_norm import Solution
from inweights.worlds.world import World

#: Verdicts, the most surprising first.
SURPRISING = ("asserted", "fails", "tied", "follows", "open")

#: Verdict that each column of a summary counts.
_VERDICTS = {
    "follow": "follows",
    "tied": "tied",
    "fail": "fails",
    "asserted": "asserted",
    "open": "open",
}

_SUMMARY = (
    pl.len().alias("queries"),
    *((pl.col("verdict") == v).sum().alias(column) for column, v in _VERDICTS.items()),
    pl.col("expected").mean(),
    pl.col("right_answers", "chance").mean(),
    pl.col("margin").min().alias("least_margin"),
    pl.col("margin").median().alias("median_margin"),
)


@dataclass(frozen=True, eq=False)
class Prediction:
    """A prediction for every query of a world.

    Attributes:
        parts: Solutions of the programs, one per part that was solved, the largest part
            first. Each refers to the world of its part.
        world: The world; ``query`` and ``fact`` in the tables are indices in it.
        queries: One row per query: ``query`` (its index), ``part`` (index in
            :attr:`parts`), ``prompt``, ``answer`` (the first correct answer),
            ``right_answers`` (number of correct answers), ``chance`` (fraction of the
            outputs that are correct), ``predicted`` (the output with the largest
            logit), ``margin`` (of the best correct answer over the best wrong output,
            in units of the smallest margin of the facts or, with decay, of their median
            margin), ``verdict``, ``tied`` (number of outputs whose logits are within
            the tolerance of the largest logit), ``expected`` (fraction of these outputs
            that are correct: the expected accuracy), ``role``, ``pattern`` (form of the
            prompt and answer: relations by name, other tokens by their group),
            ``out_of_distribution``.
            The verdict is ``follows`` if the margin is above the tolerance, ``fails``
            if it is below minus the tolerance, and otherwise ``tied``. Queries of the
            role ``unstated`` have no correct answer; their ``margin`` is the difference
            between the two largest logits, ``expected`` is null, and the verdict is
            ``asserted`` if the margin is above the tolerance, otherwise ``open``.
        let_go: Facts that are not used: ``fact`` (its index), ``statement``,
            ``instead`` (the answer of the program), ``why``: ``left out`` (the fact is
            in no part) or ``answered otherwise by the program`` (the program, whose
            logits are a sum over tokens, cannot store the fact together with the other
            facts; a trained network may).
        why: Reason why program (2) was not solved for all facts at once, and remarks on
            the accuracy of the solution; may be empty.
        advice: Identities that correct failing queries if they are added; ``None`` if
            there are none.
        remedies: Other statements that correct failing queries if they are added.
    """

    parts: tuple[Solved, ...]
    world: World
    queries: pl.DataFrame
    let_go: pl.DataFrame
    why: str = ""
    advice: Advice | None = None
    remedies: tuple[Remedy, ...] = ()

    @property
    def solution(self) -> Solved:
        """Solution for the largest part of the world, ``parts[0]``."""
        return self.parts[0]

    @property
    def certified(self) -> bool:
        """Whether the solutions of all solved parts of the world are certified."""
        return all(part.status == "certified" for part in self.parts)

    def __repr__(self) -> str:
        return self._card().text

    def _repr_html_(self) -> str:
        return self._card().html

    def _card(self) -> Card:
        about = {
            "status": self.solution.status,
            "queries": len(self.queries),
            "facts left out": len(self.let_go),
        }
        table = self.summary()
        return Card(
            f"Prediction for {self.world!r}", about, table.columns, table.rows()
        )

    @cached_property
    def probabilities(self) -> pl.DataFrame:
        """Probability that trained networks answer each query correctly, one row per query.

        The columns are ``query`` (its index), ``MODEL probability`` for each of
        :data:`~.calibration.fitted.MODELS` (null for queries that chain no facts, which
        the fit does not cover) and ``outlook``: ``likely`` (at least 2/3), ``unlikely``
        (at most 1/3) or ``open``, according to the probability for a GPT or, if that is
        null, to the verdict. The outlook is ``uncalibrated`` if the fit is too
        uncertain (:attr:`Nearest.vague`) or does not cover the query (chains of three
        or more facts with several correct answers). Queries without a correct answer
        have the outlook ``asserted`` or ``no answer``. If some queries have several
        correct answers, no probability is below the chance of a guess.

        Example:
            >>> import inweights as iw
            >>> made = iw.predict(iw.TwoHop(n=3, identity=True).build(), advise=False)
            >>> made.probabilities.columns
            ['query', 'Emb-MLP probability', 'GPT probability', 'outlook']
        """
        found = calibration().probabilities(query_features(self.world, self.queries))
        if (self.queries["right_answers"] > 1).any():
            chance = self.queries.select("query", pl.col("chance").fill_null(0.0))
            bounded = found.join(chance, on="query", how="left", maintain_order="left")
            found = bounded.select(
                "query",
                *(pl.max_horizontal(model, "chance").alias(model) for model in MODELS),
            )
        names = {model: f"{model} probability" for model in MODELS}
        several = (pl.col("role") == "chain") & (pl.col("right_answers") > 1)
        joined = self.queries.select("query", "verdict", unfitted=several).join(
            found.rename(names), on="query", how="left", maintain_order="left"
        )
        words = [
            self._outlook(verdict, p, unfitted=unfitted or self.nearest.vague)
            for verdict, p, unfitted in joined.select(
                "verdict", names["GPT"], "unfitted"
            ).iter_rows()
        ]
        joined = joined.drop("unfitted")
        return joined.drop("verdict").with_columns(
            outlook=pl.Series(words, dtype=pl.String)
        )

    @staticmethod
    def _outlook(verdict: str, probability: float | None, *, unfitted: bool) -> str:
        """Return the outlook of a query, by its probability if known, otherwise by its verdict."""
        by_program = {
            "follows": "likely",
            "tied": "open",
            "fails": "unlikely",
            "open": "no answer",
        }
        if unfitted and verdict in ("follows", "tied", "fails"):
            return UNCALIBRATED
        return outlook(probability) or by_program.get(verdict, verdict)

    @cached_property
    def nearest(self) -> Nearest:
        """Family of calibration worlds nearest to this world; see :meth:`.Calibration.nearest`."""
        return calibration().nearest(self.world)

    def summary(self, by: Sequence[str] = ("role", "pattern")) -> pl.DataFrame:
        """Return the number, expected accuracy and margins of the queries in each group.

        Args:
            by: Names of columns of :attr:`queries` by which the queries are grouped.

        Returns:
            One row per combination of their values: ``queries`` (their number),
            ``follow``, ``tied``, ``fail``, ``asserted`` and ``open`` (numbers of
            queries by verdict), ``expected``, ``right_answers`` and ``chance`` (means
            of these columns), ``least_margin`` and ``median_margin`` (smallest and
            median ``margin``).
        """
        return self.queries.group_by(list(by), maintain_order=True).agg(*_SUMMARY)

    def surprising(self) -> pl.DataFrame:
        """Return the queries sorted by verdict, the most surprising verdicts first.

        Returns:
            The table :attr:`queries`, in the order ``asserted``, ``fails``, ``tied``,
            ``follows``, ``open``; within a verdict, by decreasing absolute margin.
        """
        place = {verdict: number for number, verdict in enumerate(SURPRISING)}
        order = pl.col("verdict").replace_strict(place, return_dtype=pl.Int64)
        return self.queries.sort(order, -comparable_margin().abs(), maintain_order=True)

    def with_intervals(
        self,
        accuracy: float | None = 0.02,
        *,
        queries: Sequence[int] | None = None,
        tie: float = 0.02,
        seconds: float | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Return the prediction with the additional columns ``lower``, ``upper`` and ``proved``.

        An interval contains the query's margin at every optimum; see
        :func:`~inweights.theory.margin_bounds`.

        Args:
            accuracy: Distance from the solution's margin at which an end of an interval
                is tight enough; for a tie, an end within ``tie`` of 0 is enough. If
                ``None``, an interval is narrowed only until it proves the verdict.
            queries: Indices of the queries; ``None`` for all queries. For queries that
                are not listed, the new columns are null.
            tie: Margins of at most this absolute value are ties.
            seconds: Time limit in seconds, after which no further interval is computed;
                ``None`` for no limit.
            progress: Function that is called with the number of finished queries and
                the total number of queries of the current part; ``None`` for no reports.

        Returns:
            A new prediction with the same attributes, whose ``queries`` have the added
            columns ``lower`` and ``upper`` (ends of the interval, infinite if nothing
            was proved) and ``proved`` (``follows``, ``tied``, ``fails``, or ``open`` if
            the interval is inconclusive).

        Raises:
            ConfigError: The prediction uses the soft program, ``accuracy`` is not above
                0, or there is no query with one of the indices in ``queries``.
            SolverError: A solution had to be refined, and no matrix was found within
                the limits.

        Example:
            >>> import inweights as iw
            >>> forecast = iw.predict(iw.TwoHop(n=3).build(), advise=False)
            >>> forecast.with_intervals(None, queries=[0]).queries["proved"].to_list()
            ['follows', None, None]
        """
        if not all(isinstance(part, Solution) for part in self.parts):
            raise ConfigError(
                "intervals can be proved only for predictions without weight decay, from facts "
                "that do not contradict each other (program (2) of Identity Bridge); this "
                "prediction was computed with the soft program (the function solve_soft)"
            )
        known = self.queries["query"].to_list()
        wanted = known if queries is None else list(queries)
        if unknown := sorted(set(wanted) - set(known)):
            indices = (
                f"indices are from 0 to {max(known)}" if known else "there are none"
            )
            raise ConfigError(f"there is no query {unknown[0]}; {indices}")
        late = None if seconds is None else time.perf_counter() + seconds
        tables: list[pl.DataFrame] = []
        for part, solution in enumerate(self.parts):
            if tables and not in_time(late):
                break
            own = self.queries.filter(pl.col("part") == part)["query"].to_numpy()
            requested = np.flatnonzero(np.isin(own, wanted))
            left = None if late is None else max(0.0, late - time.perf_counter())
            bounds = margin_bounds(
                solution,  # type: ignore[arg-type]
                queries=list(map(int, requested)),
                accuracy=accuracy,
                tie=tie,
                seconds=left,
                progress=progress,
            )
            tables.append(
                bounds.drop("margin").with_columns(query=own[bounds["query"]])
            )
        table = self.queries.join(
            pl.concat(tables), on="query", how="left", maintain_order="left"
        )
        # Queries for which there was no time are open.
        left_open = pl.col("proved").is_null() & pl.col("query").is_in(wanted)
        nothing = {"lower": -np.inf, "upper": np.inf, "proved": "open"}
        filled = [
            pl.when(left_open).then(pl.lit(value)).otherwise(column).alias(column)
            for column, value in nothing.items()
        ]
        return replace(self, queries=table.with_columns(filled))

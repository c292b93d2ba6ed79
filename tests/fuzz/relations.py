"""Test that inputs with the same meaning give the same results.

``python -m tests.fuzz.relations [--share S] [--seed N] [--only NAME]`` tests all
relations on 2,000 drawn facts, graphs and studies (or a share of them). It prints one
line for each relation with the number of cases, of accepted cases and of differences. A
relation also fails if fewer than four in five of its cases are accepted, as it would
then mostly compare refusals. Differences are shrunk and printed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.fuzz import drawn, holds, holds_trained, holds_written

from inweights.errors import CautionWarning, InweightsError

#: Lowest share of accepted cases with which a relation passes.
ACCEPTED = 0.8


@dataclass
class Relation:
    """A relation, and the results of its cases.

    Attributes:
        says: Description of the relation.
        cases: Number of cases to draw.
        strategy: The strategy that draws a case.
        holds: Called with a folder and a case; raises if the relation does not hold, or
            an error of the library if the input is refused.
        tried: Number of cases that were tried.
        accepted: Number of cases that were not refused.
        difference: Traceback of the difference that was found, if any.
    """

    says: str
    cases: int
    strategy: st.SearchStrategy[Any]
    holds: Callable[[Path, Any], None]
    tried: int = 0
    accepted: int = 0
    difference: str = ""

    def run(self, share: float, root: int, *, shrink: bool = True) -> Relation:
        """Test the relation on a share of its cases, and shrink a difference by default."""
        count = max(1, round(share * self.cases))
        with tempfile.TemporaryDirectory(prefix="relations-") as place:

            def one(case: Any) -> None:
                # A model trained for a few steps has not learned its facts.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", CautionWarning)
                    self._one(Path(place), case)

            checked = settings(
                max_examples=count,
                database=None,
                deadline=None,
                report_multiple_bugs=False,
                phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
                suppress_health_check=list(HealthCheck),
            )(seed(root)(given(self.strategy)(one)))
            try:
                checked()
            except Exception as error:  # noqa: BLE001
                notes = "\n".join(getattr(error, "__notes__", ()))
                self.difference = (
                    f"{''.join(traceback.format_exception(error))}\n{notes}"
                )
        return self

    def _one(self, place: Path, case: Any) -> None:
        self.tried += 1
        try:
            self.holds(place, case)
        except InweightsError:
            return
        self.accepted += 1

    @property
    def right(self) -> bool:
        return not self.difference and self.accepted >= ACCEPTED * self.tried > 0

    def __str__(self) -> str:
        return (
            f"{self.says:58} {self.tried:5} cases, {self.accepted:5} accepted, "
            f"{int(bool(self.difference))} differences"
        )


def relations() -> dict[str, Relation]:
    """Return all relations by name."""
    odd = drawn.fact_sets(names=(*drawn.ODD, *drawn.PLAIN[:10]))
    formats = st.sampled_from(drawn.FORMATS)
    return {
        "audit-moved": Relation(
            "audit: order and repetition of rows",
            300,
            drawn.moved(odd),
            holds.audit_moved,
        ),
        "audit-renamed": Relation(
            "audit: other names", 200, drawn.renamed(), holds.audit_renamed
        ),
        "predict-renamed": Relation(
            "predict: other names, another order",
            300,
            drawn.renamed(),
            holds.predict_renamed,
        ),
        "predict-beside": Relation(
            "predict, audit: facts of something else beside",
            200,
            st.tuples(
                drawn.fact_sets(most=8),
                drawn.fact_sets(drawn.PLAIN[20:], drawn.RELATIONS[6:], most=8),
            ),
            holds.predict_beside,
        ),
        "augment": Relation(
            "augment: rows follow from the file, and audit clean",
            300,
            st.tuples(drawn.fact_sets(), holds_written.augmentations()),
            holds_written.augment_true,
        ),
        "facts-written": Relation(
            "facts, worlds: written, read",
            200,
            st.tuples(odd, formats, formats),
            holds_written.facts_written,
        ),
        "tables-exported": Relation(
            "export: written, read",
            100,
            holds_written.tables(),
            holds_written.tables_exported,
        ),
        "graph-moved": Relation(
            "atlas: order and names of nodes and edges",
            200,
            drawn.graphs(),
            holds_written.graph_moved,
        ),
        "study-file": Relation(
            "study: a file and the call",
            150,
            drawn.studies("sgd", "adamw"),
            holds_trained.study_file,
        ),
        "sweep-direct": Relation(
            "sweep: training and measuring by hand",
            50,
            drawn.studies("sgd", "adamw"),
            holds_trained.sweep_direct,
        ),
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    found = []
    for name, relation in relations().items():
        if asked.only in ("", name):
            found.append(relation.run(asked.share, asked.seed))
            sys.stdout.write(f"{relation}\n{relation.difference}")
            sys.stdout.flush()
    tried, different = (
        sum(one.tried for one in found),
        sum(bool(one.difference) for one in found),
    )
    sys.stdout.write(f"{tried} cases, {different} differences\n")
    return int(not all(one.right for one in found))


if __name__ == "__main__":
    sys.exit(main())

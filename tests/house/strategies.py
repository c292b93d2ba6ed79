"""Store the gains of strategies of ``augment``: ``python -m tests.house.strategies RUN``.

RUN is the folder of a run of ``beyond/which-diet-teaches``. The numbers of all its seeds
are written to ``results/which-diet-teaches.json`` and the gains to ``measured.toml``;
the rows of both tables of ``docs/own-facts-measured.md`` are printed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from inweights.audit.strategies import STRATEGIES
from inweights.audit.strategies.measured import ASKED
from inweights.recipes import get_recipe
from inweights.support.statistics.intervals import median_interval

ROOT = Path(__file__).parents[2]
STORED = ROOT / "results" / "which-diet-teaches.json"
MEASURED = ROOT / "src/inweights/audit/strategies/measured.toml"
#: Names of kinds of queries in the run, if these differ: the name says whether
#: strategies may state the chain ("told") or never do ("held").
CALLED = {"composition": "composition, told", "steps": "steps, held"}
#: The columns of the second table.
COLUMNS = (
    "told",
    "recall",
    "composition, told",
    "composition, held",
    "steps, held",
    "reverse",
    "general",
)


def store(run: Path) -> dict[str, Any]:
    """Return the numbers of all seeds by condition and kind of query."""
    name, tables = "beyond/which-diet-teaches", {}
    for table, keys in (("accuracy", ["condition", "what"]), ("kept", ["condition"])):
        rows = pl.read_parquet(run / "tables" / f"{table}.parquet").sort(
            "seed", maintain_order=True
        )
        numbers = [
            c
            for c in rows.columns
            if c not in (*keys, "seed", "trained", "chance", "excess")
        ]
        lists = rows.group_by(keys, maintain_order=True).agg(pl.col(numbers).round(6))
        tables[table] = lists.rows(named=True)
    return {
        "recipe": name,
        "version": get_recipe(name).version,
        "command": f"inweights run {name}",
        "seeds": json.loads((run / "config.json").read_text())["seeds"],
        "note": "a number for each seed; 'lost' and 'rise' against the model as it was",
        **tables,
    }


def by_condition(stored: dict[str, Any]) -> dict[tuple[str, str], list[float]]:
    """Return the accuracies of the seeds by condition and kind of query."""
    return {
        (row["condition"], row["what"]): row["accuracy"] for row in stored["accuracy"]
    }


def gain(
    stored: dict[str, Any], condition: str, asked: str
) -> tuple[float, float, float]:
    """Return the median over seeds of a condition's gain over the control, with interval."""
    found, what = by_condition(stored), CALLED.get(asked, asked)
    pairs = zip(found[condition, what], found["control", what], strict=True)
    return median_interval([ours - control for ours, control in pairs])


def short(number: float, sign: str = "") -> str:
    """Return a share as the page writes it, such as ``+.67``."""
    return f"{round(number, 2) + 0:{sign}.2f}".replace("0.", ".", 1)


def gains_rows(stored: dict[str, Any]) -> Iterator[str]:
    """Yield the rows of the first table, one for each measured strategy."""
    for name in measured(stored):
        cells = [gain(stored, name, asked) for asked in ASKED]
        said = [
            f"{short(g, '+')} ({short(low)} to {short(high)})" for g, low, high in cells
        ]
        yield f"| {' | '.join(said)} |"


def accuracy_rows(stored: dict[str, Any]) -> Iterator[str]:
    """Yield the rows of the second table: mean accuracies and the rise of perplexity."""
    found = by_condition(stored)
    for row in stored["kept"]:
        name = row["condition"]
        cells = [short(fmean(found[name, what])) for what in COLUMNS]
        first = "nothing (control)" if name == "control" else name
        yield f"| {first} | {' | '.join(cells)} | × {2 ** fmean(row['rise']):.1f} |"


def measured(stored: dict[str, Any]) -> list[str]:
    """Return the names of the strategies that are conditions of the run."""
    conditions = {row["condition"] for row in stored["kept"]}
    return [name for name in STRATEGIES if name in conditions]


def main(arguments: Sequence[str]) -> None:
    stored = store(Path(arguments[0]))
    a_line = re.sub(
        r"\[[-\d.,e\s]+\]",
        lambda x: " ".join(x[0].split()),
        json.dumps(stored, indent=1),
    )
    STORED.write_text(a_line + "\n")
    head, notes = re.split(r"(?s)\[gains\..*?(?=\[notes\.)", MEASURED.read_text())
    head = re.sub(r"(?m)^seeds = \d+$", f"seeds = {len(stored['seeds'])}", head)
    gains = []
    for name in measured(stored):
        rows = {
            asked: [round(x, 4) + 0 for x in gain(stored, name, asked)]
            for asked in ASKED
        }
        gains.append(
            "\n".join([f"[gains.{name}]", *(f"{a} = {row}" for a, row in rows.items())])
        )
    MEASURED.write_text(head + "\n\n".join(gains) + "\n\n" + notes)
    print(*gains_rows(stored), "", *accuracy_rows(stored), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])

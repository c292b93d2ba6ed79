"""Plans of tests, and checks of their stored results."""

from __future__ import annotations

from collections import Counter

from tests.experiments.small import DRAWS

from inweights.actions.plans import write_plan
from inweights.runs.tables.store import Store


def write(place: object, recipe=DRAWS, seeds: int = 6, settings=None):
    plan = recipe.plan(settings or recipe.scales["smoke"])
    return write_plan(
        plan, range(seeds), str(place), plugins=["tests.experiments.small"]
    )


def stored_once(store: Store, runs: int) -> None:
    """Check that each table of each run has one complete file."""
    names = [name for name in store.files.names("") if name.endswith(".parquet")]
    counts = Counter((name.split("/")[-2], name.rpartition("-")[0]) for name in names)
    assert set(counts.values()) == {1}
    assert len({owner for owner, _ in counts}) == runs
    assert all(store.has(owner, name.rpartition("/")[2]) for owner, name in counts)

"""Plugin of pytest for ``make test-slow``: start each process with some of the longest tests.

pytest-xdist gives each process the same number of tests, and a process that has finished
takes tests from the end of another's list. All processes would wait for a long test that
starts last. There are two more processes than cores, since tests that wait for their own
child processes leave a core idle.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")

#: Parts of the names of the longest tests, from about 60 seconds of processor time down
#: to 8.
LONGEST = (
    "::test_site",
    "::test_contracts_hold_on_a_pretend_accelerator",
    "::test_two_nodes_one_process_killed",
    "::test_a_real_model_learns_a_fact",
    "::test_on_ray_all_is_as_it_is_here",
    "::test_page_runs[probe]",
    "::test_the_examples_run_one_after_another",
    "[beyond/edits-spread]",
    "[beyond/loops-or-identities]",
    "[beyond/geometry-disputed]",
    "::TestRay::",
    "::test_what_is_stored_is_what_is_computed",
    "::test_mutated_commands_and_files",
    "::test_the_tutorial_runs",
    "::test_a_limit_is_kept",
    "::test_killed_before_many_operations",
    "::test_a_geometry_finds_paths",
    "::test_a_disk_that_fails",
    "::test_commands_killed_before_any_call",
    "::test_a_newcomer_arrives",
    "::test_two_processes_train_what_one_does",
    "::test_three_workers_one_bucket",
    "::test_processes_do_what_this_one_does",
    "::test_every_kind_fits_its_window",
    "::test_umap_keeps_neighbours",
    "::test_patching_alone_does_not_show",
    "::test_depth_decides",
)


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Return the number of processes of pytest where ``-n auto`` is given."""
    cores = yield
    return cores + 2


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Order the tests; each of several processes computes the same order."""
    if processes := getattr(config, "workerinput", {}).get("workercount"):
        items[:] = dealt(items, processes, lambda item: rank(item.nodeid))


def rank(name: str) -> int | None:
    """Return the place of a test among the longest, or None.

    Example:
        >>> rank("tests/docs/test_site.py::test_site"), rank("tests/test_seeds.py::test_streams")
        (0, None)
    """
    return next((place for place, part in enumerate(LONGEST) if part in name), None)


def dealt(items: Sequence[T], hands: int, rank: Callable[[T], int | None]) -> list[T]:
    """Order items so that each of several equal parts begins with some of the first by rank.

    Args:
        items: The items to order.
        hands: Number of parts, whose sizes differ by at most one; the last are larger.
        rank: Returns the place of an item among the first; None for all others, which
            keep their order.

    Example:
        >>> dealt([5, 1, 6, 2, 7, 8], 2, lambda number: number if number < 5 else None)
        [1, 5, 6, 2, 7, 8]
    """
    ranks: dict[int, int] = {}
    for place, item in enumerate(items):
        if (its := rank(item)) is not None:
            ranks[place] = its
    first = sorted(ranks, key=lambda place: ranks[place])
    others = iter([item for place, item in enumerate(items) if place not in ranks])
    left, found = len(items), list[T]()
    for hand in range(hands):
        size = left // (hands - hand)
        left -= size
        mine = [items[place] for place in first[hand::hands]]
        found += mine
        found += [next(others) for _ in range(size - len(mine))]
    return found

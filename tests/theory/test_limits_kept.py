"""Time limits are observed, measured in calls; ``limits_kept.py`` measures all commands."""

from __future__ import annotations

import pytest
from tests.forks import Forks


@pytest.mark.slow
def test_a_limit_is_kept_where_it_was_not(forks: Forks) -> None:
    """Cases that once exceeded the limit: two million chains, divided facts, intervals."""
    names = ("predict hub", "predict dense", "predict with intervals")
    done = forks.start("tests.theory.limits_kept:main", "calls", 3, *names)
    assert done.wait() == 0, done.output

"""Options and settings that all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from tests import shapes
from tests.forks import Forks

#: Fixtures of other modules. There is one browser a process, of whichever tests.
__all__ = ["browser", "held", "visit"]

# Read when torch is first imported, which none of the above does: threads that wait by spinning
# make everything many times slower where the cores are shared.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

pytest.register_assert_rewrite("tests.browser", "tests.model_case", "tests.world_case")

from tests.browser import browser, held, visit  # noqa: E402

shapes.install()

# The same examples on every machine, and no time limit on a shared one.
settings.register_profile(
    "inweights", deadline=None, derandomize=True, database=None, max_examples=40
)
settings.load_profile("inweights")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-trajectories",
        action="store_true",
        help="write tests/training/trajectories/*.json anew; say in CHANGELOG.md why they changed",
    )


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Processes for tests that kill some; all of them share one import of torch."""
    if not hasattr(os, "fork"):
        pytest.skip("needs a system that can fork")
    forks = Forks()
    yield forks
    forks.close()


@pytest.fixture(autouse=True)
def shapes_are_checked(request: pytest.FixtureRequest) -> Iterator[None]:
    """In the tests of the rooms whose signatures say them."""
    with shapes.checking(request.path.parent.name in (*shapes.ROOMS, "tests")):
        yield


@pytest.fixture
def registries() -> Iterator[None]:
    """What a test registers (recipes, worlds, drawings) is gone after it."""
    import inweights.report.figures.draw  # noqa: F401 (the built-in drawings)
    from inweights import recipes
    from inweights.report.base.registry import DRAWINGS
    from inweights.worlds import registry

    known: tuple[dict[str, Any], ...] = (recipes._registered, registry._KINDS, DRAWINGS)
    before = [dict(entries) for entries in known]
    yield
    for entries, old in zip(known, before, strict=True):
        entries.clear()
        entries.update(old)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the contract of a world for each of its configs."""
    configs = getattr(metafunc.cls, "configs", None)
    if "config" in metafunc.fixturenames and configs:
        metafunc.parametrize("config", configs)

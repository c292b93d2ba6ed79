"""Options and settings that all tests share."""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings
from tests import shapes
from tests.forks import ROOT, Forks

#: Fixtures from other modules. All tests of a process share one browser.
__all__ = ["browser", "held", "visit"]

#: Environment variables with the same value on every machine. The home folder, with all
#: caches, is temporary. Hubs are never contacted: without a network, lm-eval would wait
#: 46 s for an answer.
FIXED = {
    "COLUMNS": "80",
    "LINES": "24",
    "TERM": "dumb",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "HF_HUB_OFFLINE": "1",
}
#: Prefixes of variables that are removed because they change what programs print or where
#: they store caches. Two variables of this library control the tests and are not removed.
CLEARED = (
    "CLICOLOR",
    "FORCE_COLOR",
    "HF_",
    "INWEIGHTS_",
    "JUPYTER_",
    "LANG",
    "MPL",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PY_COLORS",
    "TORCH_HOME",
    "TRANSFORMERS_",
    "TTY_",
    "XDG_",
)
FOR_TESTS = ("INWEIGHTS_SITE", "INWEIGHTS_WRITE")


def fix_environment() -> Path:
    """Set the environment variables of the test session, and return the temporary home folder.

    This must happen before any module reads them.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:  # the parent process has set them
        time.tzset()
        return Path.home()
    for name in [n for n in os.environ if n.startswith(CLEARED) and n not in FOR_TESTS]:
        del os.environ[name]
    home = Path(tempfile.mkdtemp(prefix="inweights-home-"))
    # The ledger of this checkout would determine the seeds of recipes. Tests that need a
    # ledger pass its folder.
    os.environ |= FIXED | {
        "HOME": str(home),
        "INWEIGHTS_RESULTS": str(home / "results"),
    }
    if hasattr(time, "tzset"):
        time.tzset()
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # set by a shell for background jobs
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return home


HOME = fix_environment()

# torch reads these variables when it is first imported, which happens later. Threads that
# wait by spinning make everything many times slower on shared cores.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Small models gain little from threads. On busy cores, threads that wait for each other
# make training thirty times slower. The commands also train with one thread per process.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Objects that imports create live until the session ends. Searching them for garbage took
# a tenth of the session's time.
gc.disable()

# Tests kill processes but never cut the power, so written data cannot be lost. Waiting for
# the disk takes milliseconds per file and is therefore turned off; test_publish.py tests
# that the library does wait.
os.fsync = lambda fd: None

pytest.register_assert_rewrite("tests.browser", "tests.model_case", "tests.world_case")

from tests.browser import browser, held, visit  # noqa: E402

shapes.install()

# Hypothesis generates the same examples on every machine, and has no time limits, because
# machines may be busy.
settings.register_profile(
    "inweights",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("inweights")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-trajectories",
        action="store_true",
        help="write tests/training/trajectories/*.json anew; say in CHANGELOG.md why they changed",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow the cases that ``fast_cases`` leaves to the slow tier."""
    cases: Counter[str] = Counter()
    for item in items:
        if mark := item.get_closest_marker("fast_cases"):
            name = item.nodeid.partition("[")[0]
            cases[name] += 1
            if cases[name] > mark.args[0]:
                item.add_marker(pytest.mark.slow)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests that need an accelerator if PyTorch finds none."""
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip(
                "needs a GPU that PyTorch can use, and a build of PyTorch for it"
            )


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    # Tests create many objects that are not garbage, such as tables and figures. Searching
    # for garbage after every 700 objects took a twentieth of their time.
    gc.set_threshold(50_000, 20, 20)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(autouse=True)
def seed_global_generators(request: pytest.FixtureRequest) -> None:
    """Seed the global generators by the name of the test.

    The library never draws from them, but modules of others do when they are made. So a
    test that compares with such a module has the same outcome in whatever order and
    process it runs.
    """
    seed = crc32(request.node.nodeid.encode())
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


@pytest.fixture
def signals() -> Iterator[None]:
    """Let SIGHUP end processes, also where the session ignores it because of nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Use one thread, with which runs have the same bits alone and in a group."""
    from inweights.training.steps.machine import use_threads

    with use_threads(1):
        yield


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Yield a server that forks processes for tests, so that all share one import of torch."""
    if not hasattr(os, "fork"):
        pytest.skip("needs a system that can fork")
    forks = Forks()
    yield forks
    forks.close()


@pytest.fixture(scope="session", autouse=True)
def checkout_is_asked_for_once() -> Iterator[None]:
    """Cache what git reports about this checkout, which does not change while tests run."""
    # The package has a function of the same name, so that the module is imported by its path.
    environment = import_module("inweights.runs.environment")
    ask = environment._git

    @cache
    def asked(_programs: str, folder: Path, *words: str, strip: bool) -> str | None:
        return ask(folder, *words, strip=strip)

    def git(folder: Path, *words: str, strip: bool = True) -> str | None:
        if folder.is_relative_to(ROOT):
            return asked(os.environ.get("PATH", ""), folder, *words, strip=strip)
        return ask(folder, *words, strip=strip)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "_git", git)
        yield


@pytest.fixture(scope="session", autouse=True)
def installed_plugins_are_looked_for_once() -> Iterator[None]:
    """Cache the installed plugins: reading them in each command took 2% of the tests' time."""
    plugins = import_module("inweights.support.plugins")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugins, "entry_points", cache(plugins.entry_points))
        yield


@pytest.fixture(autouse=True)
def shapes_are_checked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check arrays against signatures in tests of the packages that declare shapes."""
    with shapes.checking(request.path.parent.name in (*shapes.ROOMS, "tests")):
        yield


@pytest.fixture
def registries() -> Iterator[None]:
    """Restore the registries (recipes, worlds, models, learners, drawings) after a test."""
    import inweights.report.figures.draw  # noqa: F401 (the built-in drawings)
    from inweights import recipes
    from inweights.models import registry as models
    from inweights.report.base.registry import DRAWINGS
    from inweights.training.learners import kinds as learner
    from inweights.worlds import registry

    kinds = (registry._KINDS, models._KINDS, learner._KINDS)
    known: tuple[dict[str, Any], ...] = (recipes._registered, *kinds, DRAWINGS)
    before = [dict(entries) for entries in known]
    yield
    for entries, old in zip(known, before, strict=True):
        entries.clear()
        entries.update(old)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test with a parameter ``config`` for all ``configs`` of its class."""
    configs = getattr(metafunc.cls, "configs", None)
    if "config" in metafunc.fixturenames and configs:
        metafunc.parametrize("config", configs)

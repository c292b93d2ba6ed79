"""Fixtures of the tests of the engine."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folders_of_marks() -> Iterator[None]:
    """Ignore the warning about folders in options, where test functions write marks."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the option .* names a folder")
        yield


@pytest.fixture
def trained(monkeypatch) -> list[int]:
    """Record the number of replicas of each training."""
    from inweights.experiments.engine.attempts import task

    sizes: list[int] = []
    train_block = task.train_block  # type: ignore[attr-defined]

    def counted(model, *args, **kwargs):
        sizes.append(model.replicas)
        return train_block(model, *args, **kwargs)

    monkeypatch.setattr(task, "train_block", counted)
    return sizes


@pytest.fixture
def known(registries) -> None:
    """Register the small recipes in this process."""
    from tests.experiments.small import DRAWS, TRAININGS

    from inweights.recipes import register

    register(DRAWS)
    register(TRAININGS)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Give Ray a temporary home for its token and logs, with the short path that sockets need."""
    pytest.importorskip("ray", reason="needs the extra 'cluster'")
    import tempfile

    with (
        tempfile.TemporaryDirectory(prefix="iw") as short,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("HOME", short)
        patch.setenv("RAY_TMPDIR", short)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # These restrict Ray to 127.0.0.1; otherwise it would use this machine's own
        # address instead: one for processes that begin, one for this one, which has
        # imported it already.
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        patch.setattr("ray._private.ray_constants.ENABLE_RAY_CLUSTER", False)
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
        patch.setenv("OMP_NUM_THREADS", "1")
        # A node that does not answer is declared lost after seconds, not after half a
        # minute.
        patch.setenv("RAY_health_check_initial_delay_ms", "0")
        patch.setenv("RAY_health_check_period_ms", "500")
        patch.delenv("RAY_ADDRESS", raising=False)
        yield patch

"""What tests of the engine share."""

from __future__ import annotations

import pytest


@pytest.fixture
def trained(monkeypatch) -> list[int]:
    """Replicas of each training."""
    from inweights.lab.engine import task

    sizes: list[int] = []
    train_runs = task.train_runs  # type: ignore[attr-defined]

    def counted(model, *args, **kwargs):
        sizes.append(model.replicas)
        return train_runs(model, *args, **kwargs)

    monkeypatch.setattr(task, "train_runs", counted)
    return sizes


@pytest.fixture
def known(registries) -> None:
    """The small recipes are known to this process."""
    from tests.lab.small import DRAWS, TRAININGS

    from inweights.recipes import register

    register(DRAWS)
    register(TRAININGS)

"""A user's function, module and loss, in a module that other processes can import."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import inweights as iw

PLUGINS = ("tests.experiments.own_work",)
#: If a folder of :func:`counted` has this many marks, further calls wait until they are
#: killed.
WAITING = 3


def counted(
    seed: int, rate: float, folder: str, patient: bool = False
) -> dict[str, float]:
    """Return a random number and leave a mark; after a few marks, wait to be killed."""
    marks = Path(folder)
    if (
        patient
        and len(list(marks.iterdir())) >= WAITING
        and (marks.parent / "wait").exists()
    ):
        time.sleep(600)
    (marks / f"{seed} {rate}").touch(exist_ok=False)
    return {"score": rate + float(np.random.default_rng(seed).random())}


def scored(seed: int, rate: float) -> dict[str, float]:
    """Return a random number."""
    return {"score": rate + float(np.random.default_rng(seed).random())}


def drive(place: str, folder: str) -> None:
    """Run the sweep of a process that is killed."""
    over = {"rate": [0.5, 1.0], "folder": [folder], "patient": [True]}
    iw.sweep(counted, over=over, seeds=3, runs=place, progress=False, jobs=1)


class Table(nn.Module):
    """A module as users write it."""

    def __init__(self, vocabulary: int, width: int = 16) -> None:
        super().__init__()
        self.tokens, self.head = (
            nn.Embedding(vocabulary, width),
            nn.Linear(width, vocabulary),
        )

    def forward(self, ids: Tensor) -> Any:
        return self.head(self.tokens(ids).cumsum(1))


def focal(logits: Tensor, targets: Tensor) -> Tensor:
    """Compute the focal loss, in which known facts have less weight."""
    said = logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -((1 - said.exp()) ** 2 * said).mean(1)


def learner(**changes: Any) -> iw.Curriculum:
    """Return a learner of a few steps."""
    return iw.Curriculum(phases=(iw.Phase(steps=8, **changes),))


def own_training() -> iw.Curriculum:
    """Return a learner of a few steps with a user's loss and optimizer."""
    return learner(
        loss=focal, optimizer=iw.Optimizer(kind=torch.optim.NAdam, rate=0.01)
    )

"""A function, a module and a loss of one's own, in a module that other processes can import."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import inweights as iw

PLUGINS = ("tests.experiments.own_work",)
#: Calls of which a folder of :func:`counted` has so many marks wait until they are
#: killed.
WAITING = 3


def counted(
    seed: int, rate: float, folder: str, patient: bool = False
) -> dict[str, float]:
    """A random number; leaves a mark for each call, and waits after a few if it is to be killed."""
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
    """A random number."""
    return {"score": rate + float(np.random.default_rng(seed).random())}


def drive(place: str, folder: str) -> None:
    """What a process does that is killed."""
    over = {"rate": [0.5, 1.0], "folder": [folder], "patient": [True]}
    iw.sweep(counted, over=over, seeds=3, runs=place, progress=False, jobs=1)


class Table(nn.Module):
    """A module as other people write them."""

    def __init__(self, vocabulary: int, width: int = 16) -> None:
        super().__init__()
        self.tokens, self.head = (
            nn.Embedding(vocabulary, width),
            nn.Linear(width, vocabulary),
        )

    def forward(self, ids: Tensor) -> Any:
        return self.head(self.tokens(ids).cumsum(1))


def focal(logits: Tensor, targets: Tensor) -> Tensor:
    """Focal loss: what is known counts less."""
    said = logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -((1 - said.exp()) ** 2 * said).mean(1)


def learner(**changes: Any) -> iw.Curriculum:
    """A few steps."""
    return iw.Curriculum(phases=(iw.Phase(steps=8, **changes),))


def own_training() -> iw.Curriculum:
    """A few steps by a loss and an optimizer of one's own."""
    return learner(
        loss=focal, optimizer=iw.Optimizer(kind=torch.optim.NAdam, rate=0.01)
    )

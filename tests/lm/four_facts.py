"""Facts that a tiny model learns in a second, with settings, and its flattened weights."""

from __future__ import annotations

from pathlib import Path

import torch

from inweights.lm import Example, FineTune, LanguageModel, finetune_to

__all__ = ["FACTS", "LONG", "tune_three", "weights"]

FACTS = [
    Example("Rome is in", " Italy."),
    Example("Oslo is in", " Norway."),
    Example("Lima is in", " Peru."),
    Example("Mozart was born in", " Salzburg."),
]
#: Enough epochs to memorise the facts.
LONG = FineTune(method="full", rate=2e-2, epochs=60, batch_tokens=200)


def weights(lm: LanguageModel) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in lm.model.parameters()])


def tune_three(out: str | Path) -> None:
    """Fine-tune the tiny model on three of the facts, in one process or several."""
    config = FineTune(method="full", rate=1e-2, epochs=4, batch_tokens=40)
    finetune_to(out, "@tiny", FACTS[:3], config)

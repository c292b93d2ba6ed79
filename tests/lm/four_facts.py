"""Facts that a tiny model learns in a second, and how; and all of its weights in a row."""

from __future__ import annotations

import torch

from inweights.lm import Example, FineTune, LanguageModel

__all__ = ["FACTS", "LONG", "weights"]

FACTS = [
    Example("Rome is in", " Italy."),
    Example("Oslo is in", " Norway."),
    Example("Lima is in", " Peru."),
    Example("Mozart was born in", " Salzburg."),
]
#: Long enough to know them.
LONG = FineTune(method="full", rate=2e-2, epochs=60, batch_tokens=200)


def weights(lm: LanguageModel) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in lm.model.parameters()])

"""A plain GPT in PyTorch, trained one run at a time."""

from __future__ import annotations

from collections.abc import Callable

import torch
from benchmarks.replicas.cases import Case
from torch import Tensor, nn
from torch.nn import functional as F

from inweights.models import GPTConfig

__all__ = ["eager_step"]

LENGTH = 2


class EagerBlock(nn.Module):
    """A plain pre-norm block."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            self.qkv(self.norm1(x))
            .view(batch, length, 3, 1, width)
            .permute(2, 0, 3, 1, 4)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class EagerGPT(nn.Module):
    """A plain GPT-2 with a tied head."""

    def __init__(self, vocabulary: int, width: int, layers: int) -> None:
        super().__init__()
        self.tokens, self.positions = (
            nn.Embedding(vocabulary, width),
            nn.Embedding(8, width),
        )
        self.blocks = nn.Sequential(*(EagerBlock(width) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.norm(self.blocks(x))[:, -1] @ self.tokens.weight.T


def eager_step(case: Case) -> Callable[[], None] | None:
    """Return a step of one run; None for other models."""
    if not isinstance(case.config, GPTConfig):
        return None
    vocabulary, batch = case.drawn
    model = EagerGPT(vocabulary, case.config.width, case.config.layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens, answers = (
        torch.randint(vocabulary, (batch, LENGTH)),
        torch.randint(vocabulary, (batch,)),
    )

    def step() -> None:
        loss = F.cross_entropy(model(tokens), answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step

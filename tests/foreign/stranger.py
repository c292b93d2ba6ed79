"""A GPT in the style of nanoGPT, without code of this library.

Without targets it returns logits of the last position only. It ties its head, rounds its
vocabulary size up, and has dropout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass
class Settings:
    block_size: int = 16
    vocab_size: int = 64
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 24
    dropout: float = 0.1


class CausalSelfAttention(nn.Module):
    def __init__(self, config: Settings) -> None:
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.n_head, self.n_embd, self.dropout = (
            config.n_head,
            config.n_embd,
            config.dropout,
        )

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.size()
        parts = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = (
            p.view(b, t, self.n_head, c // self.n_head).transpose(1, 2) for p in parts
        )
        rate = self.dropout if self.training else 0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=rate, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(b, t, c)
        return self.resid_dropout(self.c_proj(y))


class Block(nn.Module):
    def __init__(self, config: Settings) -> None:
        super().__init__()
        width = config.n_embd
        self.ln_1, self.attn = nn.LayerNorm(width), CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config: Settings) -> None:
        super().__init__()
        self.config = config
        width = config.n_embd
        self.transformer: Any = nn.ModuleDict(
            {
                "wte": nn.Embedding(config.vocab_size, width),
                "wpe": nn.Embedding(config.block_size, width),
                "drop": nn.Dropout(config.dropout),
                "h": nn.ModuleList(Block(config) for _ in range(config.n_layer)),
                "ln_f": nn.LayerNorm(width),
            }
        )
        self.lm_head = nn.Linear(width, config.vocab_size, bias=False)
        self.transformer["wte"].weight = self.lm_head.weight

    def forward(
        self, idx: Tensor, targets: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        places = torch.arange(idx.shape[1], device=idx.device)
        x = self.transformer["wte"](idx) + self.transformer["wpe"](places)
        x = self.transformer["drop"](x)
        for block in self.transformer["h"]:
            x = block(x)
        x = self.transformer["ln_f"](x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)
        return logits, loss


def gpt(seed: int = 0, **settings: int) -> GPT:
    """Return a GPT in evaluation mode, with weights drawn from a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # noqa: TID251  # as a script of one's own does
        return GPT(Settings(**settings)).eval()


def taught(
    steps: int, prompts: Tensor, answers: Tensor, seed: int = 0, **settings: int
) -> GPT:
    """Return a GPT that a plain training loop has trained on the answer to each prompt."""
    model = gpt(seed, **settings)
    targets = torch.full_like(prompts, -1)
    targets[:, -1] = answers
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        _, loss = model(prompts, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model

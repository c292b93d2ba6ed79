"""Modules as users write them, without a replica axis and without code of this library."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import inweights as iw


class Sums(nn.Module):
    """An Emb-MLP: position ``t`` sums the first ``t`` embeddings."""

    def __init__(self, vocabulary: int, width: int = 16) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.projection = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        return self.projection(self.tokens(ids).cumsum(1))


class Encoder(nn.Module):
    """PyTorch's ``nn.TransformerEncoder`` with a causal mask."""

    def __init__(self, vocabulary: int, width: int = 16, dropout: float = 0.0) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(vocabulary, width), nn.Embedding(8, width)
        layer = nn.TransformerEncoderLayer(
            width, 2, 2 * width, dropout=dropout, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        length = ids.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        x = self.embed(ids) + self.place(torch.arange(length))
        return self.head(self.encoder(x, mask=mask, is_causal=True))


class Recurrent(nn.Module):
    """An LSTM, which has no batching rule, that returns the logits of the last position only."""

    def __init__(self, vocabulary: int, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.rnn(self.embed(ids))[0][:, -1])


@dataclass
class GPTSettings:
    """Settings of nanoGPT, which rounds the vocabulary size up."""

    block_size: int = 8
    vocab_size: int = 64
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 16
    dropout: float = 0.0


class Attention(nn.Module):
    def __init__(self, config: GPTSettings) -> None:
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.heads, self.rate = config.n_head, config.dropout

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.c_attn(x).split(width, dim=2)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        rate = self.rate if self.training else 0
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=rate, is_causal=True)
        mixed = mixed.transpose(1, 2).contiguous().view(batch, length, width)
        return self.resid_dropout(self.c_proj(mixed))


class GPTBlock(nn.Module):
    def __init__(self, config: GPTSettings) -> None:
        super().__init__()
        width = config.n_embd
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(config)
        self.mlp = nn.ModuleDict(
            {"c_fc": nn.Linear(width, 4 * width), "c_proj": nn.Linear(4 * width, width)}
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x))))


class NanoGPT(nn.Module):
    """The model of nanoGPT, with a tied head, its own initialisation and a loss."""

    def __init__(self, config: GPTSettings) -> None:
        super().__init__()
        width = config.n_embd
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(config.vocab_size, width),
                "wpe": nn.Embedding(config.block_size, width),
                "drop": nn.Dropout(config.dropout),
                "h": nn.ModuleList(GPTBlock(config) for _ in range(config.n_layer)),
                "ln_f": nn.LayerNorm(width),
            }
        )
        self.lm_head = nn.Linear(width, config.vocab_size, bias=False)
        self.transformer["wte"].weight = self.lm_head.weight
        for name, parameter in self.named_parameters():
            if name.endswith("weight") and "ln_" not in name:
                nn.init.normal_(parameter, std=0.02)

    def forward(
        self, idx: Tensor, targets: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        places = torch.arange(idx.shape[1], device=idx.device)
        parts = self.transformer
        x = parts["drop"](parts["wte"](idx) + parts["wpe"](places))
        for block in parts["h"].children():
            x = block(x)
        logits = self.lm_head(parts["ln_f"](x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def nano(vocabulary: int, **settings: float) -> NanoGPT:
    """Return a factory of nanoGPT models."""
    assert vocabulary <= GPTSettings.vocab_size
    return NanoGPT(GPTSettings(**settings))  # type: ignore[arg-type]


def as_native(model: iw.GPT, replica: int) -> dict[str, Tensor]:
    """Return the weights of a native GPT under nanoGPT's names and in its layout."""
    names = {
        "tokens.weight": "transformer.wte.weight",
        "positions.weight": "transformer.wpe.weight",
        "norm": "transformer.ln_f",
    }
    inner = {
        "norm1": "ln_1",
        "norm2": "ln_2",
        "qkv": "attn.c_attn",
        "out": "attn.c_proj",
    }
    inner |= {"up": "mlp.c_fc", "down": "mlp.c_proj"}
    found = {}
    for name, value in model.named_parameters():
        own = value[replica].detach()
        if name.startswith("blocks."):
            _, number, part, kind = name.split(".")
            turned = (
                own.T
                if part in ("qkv", "out", "up", "down") and kind == "weight"
                else own
            )
            found[f"transformer.h.{number}.{inner[part]}.{kind}"] = turned
        else:
            head, _, kind = name.rpartition(".")
            found[names.get(name) or f"{names[head]}.{kind}"] = own
    return found

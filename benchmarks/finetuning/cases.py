"""Cases, examples and the model of the comparison, and turns between processes."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from inweights.audit import augment
from inweights.errors import DataError
from inweights.lm import Example, FineTune, LanguageModel, load_model
from inweights.lm.model.load import DEMO
from inweights.lm.model.tiny import byte_tokenizer
from inweights.seeds import INITIALISATION, Streams
from inweights.training import Observer, Step
from inweights.worlds import Triples

__all__ = ["BATCH", "CASES", "SEED", "Case", "Turns", "examples_of", "loaded"]

SEED, BATCH = 0, 256


@dataclass(frozen=True)
class Case:
    """A case of the comparison.

    Attributes:
        method: ``lora`` or ``full``.
        threads: Number of threads of PyTorch.
        chat: Whether examples are turns of a chat.
        precision: Precision of the products.
    """

    method: str
    threads: int = 1
    chat: bool = False
    precision: str = "fp32"

    @property
    def settings(self) -> FineTune:
        return FineTune(
            method=self.method,  # type: ignore[arg-type]
            rate=1e-3 if self.method == "lora" else 5e-5,
            warmup=0.0,
            schedule="constant",
            batch_tokens=BATCH,
            epochs=1,
            precision=self.precision,  # type: ignore[arg-type]
            layout="packed",
        )


CASES = {
    "lora": Case("lora"),
    "full": Case("full"),
    "lora, chat": Case("lora", chat=True),
    "lora, bf16": Case("lora", precision="bf16"),
    "lora, 2 threads": Case("lora", threads=2),
    "full, 2 threads": Case("full", threads=2),
}


def loaded(*, chat: bool) -> LanguageModel:
    """Return the model, or a random model of its configuration with bytes as tokens."""
    try:
        return load_model(DEMO, chat=chat)
    except DataError:
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(
            vocab_size=49_152,
            hidden_size=576,
            intermediate_size=1536,
            num_hidden_layers=30,
            num_attention_heads=9,
            num_key_value_heads=3,
            tie_word_embeddings=True,
        )
        model: Any = LlamaForCausalLM(config)
        draws = Streams(SEED).torch(INITIALISATION)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim > 1:
                    parameter.normal_(0.0, 0.02, generator=draws)
        return LanguageModel("random", model.eval(), byte_tokenizer(), chat)


def examples_of(*, chat: bool) -> list[Example]:
    """Return facts about people in several wordings, and derived facts."""
    table = augment(Triples(path="@people").read(), strategies=["auto"]).train
    given = "turn" if chat else "prompt"
    return [Example(*row) for row in table.select(given, "completion").rows()]


class Turns(Observer):
    """Report the time of each update, and wait for the turn to make the next one.

    Args:
        tokens: Tokens of each update, without padding.
        model: Name of the model.
    """

    #: Prefix of the lines that are reports.
    mark = "update: "

    def __init__(self, tokens: list[int], model: str) -> None:
        self.tokens = iter(tokens)
        self.model = model
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        self._wait()  # for the first request, which asks whether the model is loaded
        self._tell({})

    def made(self, loss: float) -> None:
        """Report that an update was made.

        Args:
            loss: Loss in nats per token.
        """
        said: dict[str, Any] = {"wall": time.perf_counter() - self.wall}
        said["processor"] = time.process_time() - self.processor
        said |= {"loss": loss, "tokens": next(self.tokens), "model": self.model}
        self._tell(said | {"MB": status("VmHWM") / 1e6})

    def step(self, seen: Step) -> None:
        self.made(float(seen.losses))

    def _tell(self, said: dict[str, Any]) -> None:
        print(f"{self.mark}{json.dumps(said)}", flush=True)
        self._wait()

    def _wait(self) -> None:
        if not sys.stdin.readline():
            raise SystemExit
        self.wall, self.processor = time.perf_counter(), time.process_time()


def status(name: str) -> int:
    """Return a memory value of this process in bytes, such as ``VmRSS``."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))

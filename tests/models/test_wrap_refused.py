"""Modules that cannot be wrapped are refused before training, with advice in the message."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.models.own_modules import Sums, nano
from torch import Tensor, nn

import inweights as iw
from inweights.errors import ConfigError, DataError, RunError
from inweights.models import load_model, pack, save_model
from inweights.models.save import decode_model, encode_model
from inweights.support.keys.code import Code
from inweights.support.plugins import load_plugins

WORLD = iw.TwoHop(n=3).build(seed=0)
TOKENS = len(WORLD.vocabulary)


class Layers(nn.Module):
    """An embedding and a head, with a layer between them that the test chooses."""

    def __init__(self, vocabulary: int, *inner: nn.Module) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(vocabulary, 8), nn.Linear(8, vocabulary)
        self.inner: Any = nn.Sequential(*inner)

    def forward(self, ids: Tensor) -> Any:
        return self.head(self.inner(self.embed(ids).mT).mT)


def listed(vocabulary: int) -> nn.Module:
    module = Layers(vocabulary)
    module.extra = [nn.Linear(8, 8)]  # type: ignore[assignment]
    return module


class Jumps(nn.Module):
    """A module that draws random noise during training."""

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.randn_like(x) if self.training else x


class Silent(Layers):
    """A module that returns a dictionary."""

    def forward(self, ids: Tensor) -> Any:
        return {"scores": super().forward(ids)}


class Scaled(Layers):
    """A module whose logits are computed by arithmetic after its last layer."""

    def forward(self, ids: Tensor) -> Any:
        return super().forward(ids) * 2


class Broken(Layers):
    """A module that divides by zero."""

    def forward(self, ids: Tensor) -> Any:
        return super().forward(ids) / 0.0


ONE = Layers(TOKENS)
REFUSED: dict[str, tuple[Callable[[int], Any], str]] = {
    "statistics of batches": (
        lambda v: Layers(v, nn.BatchNorm1d(8)),
        r"'inner.0' \(BatchNorm1d\) .* stores batch statistics.* use LayerNorm",
    ),
    "a plain list": (listed, r"modules in a plain list, 'extra', .* use nn.ModuleList"),
    "noise": (
        lambda v: Layers(v, Jumps()),
        "draws random numbers during training.* nn.Dropout",
    ),
    "dropout of a recurrent layer": (
        lambda v: nn.LSTM(v, v, 2, dropout=0.1),
        "implements its own dropout",
    ),
    "one module for all": (
        lambda _: ONE,
        r"returns the same module at each call, .* iw.wrap\(module\), which copies its weights",
    ),
    "no module": (lambda v: v, "must return a torch.nn.Module, got int"),
    "too few tokens": (
        lambda _: nn.Embedding(20, 5),
        r"returns logits of shape \[3, 2, 5\] .* expected \[3, 2, 11\] or \[3, 11\]; does it use",
    ),
    "a token too few": (
        lambda v: nn.Sequential(nn.Embedding(v - 1, 4), nn.Linear(4, v)),
        r"from 0 to 10, but failed: IndexError: .*; does it use the number of tokens",
    ),
    "a factory that raises": (
        lambda v: 1 / 0,
        "failed with vocabulary=11: ZeroDivisionError: div",
    ),
    "no token ids": (
        lambda v: nn.Linear(v, v),
        r"must read token ids of shape \[B, T\]",
    ),
    "no numbers": (
        Broken,
        "infinite or NaN before it is trained; check its init",
    ),
    "no logits": (
        Silent,
        r"must return logits, got dict; .* wrap\(\.\.\., logits=function\)",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_modules_that_cannot_be_replicas(what: str) -> None:
    factory, message = REFUSED[what]
    with pytest.raises(ConfigError, match=message):
        iw.wrap(factory).build(vocabulary=TOKENS, seeds=2)


def test_what_is_no_factory() -> None:
    for wrong in (3, lambda: ONE):
        with pytest.raises(
            ConfigError, match="must have the number of tokens as its first argument"
        ):
            iw.wrap(wrong)
    with pytest.raises(
        ConfigError, match=r"option 'width': .* the type object, .* make the rest"
    ):
        iw.wrap(Sums, width=object())
    with pytest.raises(
        ConfigError, match="unknown option of the factory 'widht'; did you mean"
    ):
        iw.wrap(Sums, widht=4)
    assert iw.wrap(partial(Sums, width=4)) == iw.wrap(Sums, width=4)
    config = iw.wrap(Silent, logits=lambda output: output["scores"])
    assert (
        config.build(vocabulary=TOKENS, seeds=2)(torch.tensor([[1, 2]])).shape[-1]
        == TOKENS
    )


def test_a_plain_module_is_told_the_line_to_write() -> None:
    module: Any = Layers(TOKENS)
    line = r"iw.wrap\(lambda vocabulary: Layers\(...\)\).build\("
    for use in (
        lambda: iw.train(module, WORLD, iw.Curriculum(), seeds=1),
        lambda: iw.probes.accuracy(module, WORLD),
    ):
        with pytest.raises(ConfigError, match=line):
            use()


class Holed(Layers):
    """A module that returns NaN for some tokens before training."""

    def forward(self, ids: Tensor) -> Any:
        return super().forward(ids).masked_fill(ids.unsqueeze(-1) < 5, torch.nan)


@pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")
def test_logits_that_are_not_numbers_for_some_facts(tmp_path: Path) -> None:
    model = iw.wrap(Holed).build(vocabulary=TOKENS, seeds=2)
    with pytest.raises(RunError, match="make the logits of the untrained model finite"):
        iw.train(model, WORLD, iw.Curriculum(), seeds=2)
    learner = iw.Curriculum(phases=(iw.Phase(steps=2),))
    with pytest.warns(
        UserWarning, match=r"2 of 2 runs diverged.* before the first update.*finite"
    ):
        iw.sweep(
            iw.TwoHop(n=3),
            iw.wrap(Holed),
            learner,
            seeds=2,
            runs=tmp_path,
            progress=False,
        )


@pytest.mark.parametrize("config", [iw.wrap(nano), iw.EmbMLPConfig(width=8)])
def test_only_a_gpt_is_exported(config: Any) -> None:
    with pytest.raises(ConfigError, match="only a GPT can be exported, got a model of"):
        iw.models.to_transformers(config.build(vocabulary=TOKENS, seeds=1))


def test_what_a_wrapped_model_cannot_do() -> None:
    model = iw.wrap(nano).build(vocabulary=TOKENS, seeds=2)
    headless = iw.wrap(Scaled).build(vocabulary=TOKENS, seeds=2)
    with pytest.raises(
        DataError, match=f"token ids must be from 0 to {TOKENS - 1}, got 1 to"
    ):
        model(torch.tensor([[1, TOKENS]]))
    with pytest.raises(
        ConfigError, match="random_offset has no effect on a wrapped module"
    ):
        model(pack([torch.tensor([[1, 2]])], offset=1))
    with pytest.raises(
        ConfigError, match=r"no torch.nn.Linear of the module computes its logits"
    ):
        headless.decode("embed", torch.zeros(2, 1, 8))


def test_a_factory_of_a_script_is_not_looked_for_in_plugins() -> None:
    with pytest.raises(
        ConfigError, match="it belongs to a script or notebook; move it to a module"
    ):
        Code(at="__main__:Nothing").load()


FACTORY = """
from torch import nn

WIDTH = 8


def make(vocabulary, layers=1):
    return nn.Sequential(nn.Embedding(vocabulary, WIDTH), nn.Linear(WIDTH, vocabulary))


def remove(path):
    raise AssertionError("a file called a function")
"""


def test_a_file_names_a_factory_that_is_loaded_and_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading a model imports nothing, and calls no function except a registered factory."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "own_factory.py"
    file.write_text(FACTORY)
    load_plugins(["./own_factory.py"])
    try:
        make = sys.modules["own_factory"].make
        model = iw.wrap(make).build(vocabulary=9, seeds=2)
        saved = save_model(model, tmp_path / "own.safetensors")
        content = saved.read_bytes()
        monkeypatch.setattr("inweights.support.keys.code._GIVEN", {})
        assert torch.equal(
            load_model(saved)(torch.tensor([[1]])), model(torch.tensor([[1]]))
        )
        remove = iw.config.replace_at(
            model.config, {"factory": {"at": "own_factory:remove"}}
        )
        model.config = remove
        with pytest.raises(
            ConfigError, match="must take 'vocabulary' as its first argument"
        ):
            decode_model(encode_model(model))
        del sys.modules["own_factory"]
        with pytest.raises(
            ConfigError, match="import own_factory first, or name it with --plugin"
        ):
            decode_model(content)
        file.write_text(FACTORY.replace("WIDTH = 8", "WIDTH = 16"))
        load_plugins(["./own_factory.py"])
        with pytest.raises(ConfigError, match="source of own_factory:make has changed"):
            decode_model(content)
    finally:
        sys.modules.pop("own_factory", None)

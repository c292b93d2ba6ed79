"""Saved models are loaded bitwise unchanged, and incomplete files are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import Tensor, nn

from inweights.config import Config
from inweights.errors import ConfigError, DataError, RunError
from inweights.models import (
    EmbMLPConfig,
    Model,
    load_model,
    model_names,
    save_model,
    wrap,
)
from inweights.models.building import join_replicas
from inweights.models.layers import Embedding
from inweights.models.registry import model_kind, register_model
from inweights.models.save import decode_model, encode_model
from inweights.seeds import as_seeds
from inweights.training import Curriculum, Phase, train
from inweights.worlds import TwoHop

SMALL: dict[str, dict[str, Any]] = {
    "gpt": {"layers": 1, "width": 8},
    "mamba": {"layers": 1, "width": 8, "state": 2},
    "one-layer": {"width": 16, "hidden": 2, "embedding": "gaussian"},
    "tiny-nn": {"width": 8, "frozen": True},
    "deep-linear": {"width": 16, "layers": 2},
}
WORLD = TwoHop(n=3).build()


def build(kind: str, seeds: int = 2) -> Model:
    config: Any = model_kind(kind)(**SMALL.get(kind, {"width": 8}))
    model: Model = config.build(
        vocabulary=len(WORLD.vocabulary), seeds=seeds, candidates=WORLD.outputs.tolist()
    )
    return model


def same(one: Model, other: Model) -> bool:
    a, b = one.state_dict(), other.state_dict()
    return list(a) == list(b) and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("kind", model_names())
def test_every_kind_comes_back(kind: str, tmp_path: Path) -> None:
    model = build(kind)
    again = load_model(save_model(model, tmp_path / "deep" / "model.safetensors"))
    assert same(again, model)
    assert type(again) is type(model)
    assert again.config == model.config
    assert (again.replicas, again.vocabulary) == (model.replicas, model.vocabulary)
    assert again.candidates.tolist() == model.candidates.tolist()
    tokens = torch.tensor([[0], [1]])
    assert torch.equal(again(tokens), model(tokens))
    # Replicas are saved one by one and combined again.
    parts = [
        decode_model(encode_model(model, replica)) for replica in range(model.replicas)
    ]
    assert [part.replicas for part in parts] == [1, 1]
    assert same(join_replicas(parts), model)
    assert [p.name for p in tmp_path.rglob("*.partial")] == []


def test_a_trained_model_is_saved_by_any_program(tmp_path: Path) -> None:
    model = build("gpt", seeds=3)
    train(model, WORLD, Curriculum(phases=(Phase(steps=2),)), seeds=3)
    safetensors.torch.save_file(model.state_dict(), tmp_path / "a.safetensors")
    safetensors.torch.save_model(model, str(tmp_path / "b.safetensors"))
    read = safetensors.torch.load_file(tmp_path / "a.safetensors")
    assert all(
        torch.equal(read[name], value) for name, value in model.state_dict().items()
    )
    save_model(model, tmp_path / "c.safetensors")
    read = safetensors.torch.load_file(tmp_path / "c.safetensors")
    assert all(
        torch.equal(read[name], value) for name, value in model.state_dict().items()
    )
    # Training continues from the loaded model.
    again = load_model(tmp_path / "c.safetensors")
    for one in (model, again):
        train(one, WORLD, Curriculum(phases=(Phase(steps=2),)), seeds=3)
    assert same(model, again)


def test_precision_is_kept(tmp_path: Path) -> None:
    model = build("emb-mlp").double()
    again = load_model(save_model(model, tmp_path / "m.safetensors"))
    assert again.tokens.weight.dtype == torch.float64
    assert same(again, model)
    first, second = model.select([0]), model.select([1])
    assert first.tokens.weight.dtype == torch.float64
    assert same(join_replicas([first, second]), model)


def test_each_tensor_of_a_module_keeps_its_own_precision(tmp_path: Path) -> None:
    class Mixed(nn.Module):
        def __init__(self, vocabulary: int) -> None:
            super().__init__()
            self.table = nn.Embedding(vocabulary, 4)
            self.head = nn.Linear(4, vocabulary).double()

        def forward(self, ids: Tensor) -> Tensor:
            return self.head(self.table(ids).double())

    model = wrap(Mixed).build(vocabulary=3, seeds=2)
    again = load_model(save_model(model, tmp_path / "m.safetensors"))
    for copy in (again, model.select([0, 1])):
        assert copy.table.weight.dtype == torch.float32
        assert copy.head.weight.dtype == torch.float64
        assert same(copy, model)


def test_each_flipped_bit_is_noticed(tmp_path: Path) -> None:
    content = encode_model(EmbMLPConfig(width=2).build(vocabulary=3, seeds=1))
    assert decode_model(content).replicas == 1
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 1 << (place % 8)
        with pytest.raises((DataError, ConfigError)):
            decode_model(bytes(damaged))
    for length in (0, 5, 9, len(content) - 1):
        with pytest.raises(DataError):
            decode_model(content[:length])


def refusals(folder: Path) -> dict[str, tuple[Path, str]]:
    foreign = folder / "foreign.safetensors"
    safetensors.torch.save_file({"weight": torch.zeros(2)}, foreign)
    text = folder / "text.safetensors"
    text.write_text("hello")
    pickled = folder / "pickled.safetensors"
    pickled.write_bytes(b"\x80\x04\x95\x11\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94")
    return {
        "foreign": (foreign, "is not an inweights model"),
        "text": (text, "is not a safetensors file, or is damaged"),
        "pickled": (pickled, "is not a safetensors file, or is damaged"),
        "missing": (folder / "missing.safetensors", "cannot read the model"),
        "folder": (folder, "cannot read the model"),
    }


@pytest.mark.parametrize("what", ["foreign", "text", "pickled", "missing", "folder"])
def test_what_is_no_model_is_refused_in_one_line(what: str, tmp_path: Path) -> None:
    path, why = refusals(tmp_path)[what]
    with pytest.raises(DataError, match=why) as error:
        load_model(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_device_that_is_not_here_is_refused(tmp_path: Path) -> None:
    path = save_model(build("emb-mlp"), tmp_path / "m.safetensors")
    with pytest.raises(
        ConfigError, match="unknown device 'cudaa'; did you mean 'cuda'"
    ):
        load_model(path, device="cudaa")
    with pytest.raises(ConfigError, match="no device 'cuda:99'"):
        load_model(path, device="cuda:99")


class OwnConfig(Config):
    width: int = 4

    def build(self, *, vocabulary, seeds, inits=None, candidates=None):
        return Own(self, vocabulary=vocabulary, seeds=as_seeds(seeds))


class Own(Model):
    def __init__(self, config: OwnConfig, *, vocabulary: int, seeds) -> None:
        super().__init__(len(seeds), vocabulary)
        self.config = config
        self.tokens = Embedding(len(seeds), vocabulary, config.width)

    def unembed(self, state: Tensor) -> Tensor:
        return state


def test_a_model_of_ones_own_is_told_by_its_config(tmp_path: Path) -> None:
    model = OwnConfig().build(vocabulary=3, seeds=2)
    with torch.no_grad():
        model.tokens.weight.normal_(generator=torch.Generator().manual_seed(0))
    path = save_model(model, tmp_path / "own.safetensors")
    with pytest.raises(ConfigError, match=r"does not state the kind .* kind=MyConfig"):
        load_model(path)
    assert same(load_model(path, kind=OwnConfig), model)
    with pytest.raises(ConfigError, match="must declare a tag"):
        register_model(OwnConfig)
    with pytest.raises(ConfigError, match="unknown model 'gtp'; did you mean 'gpt'"):
        model_kind("gtp")


def test_what_cannot_be_saved_says_so(tmp_path: Path) -> None:
    model = OwnConfig().build(vocabulary=3, seeds=1)
    del model.config
    with pytest.raises(ConfigError, match=r"'config' must be the Config"):
        save_model(model, tmp_path / "m.safetensors")
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot write the model"):
        save_model(build("emb-mlp"), tmp_path / "file" / "m.safetensors")
    with pytest.raises(ConfigError, match="'replica' must be from 0 to 1, got 2"):
        encode_model(build("emb-mlp"), 2)
    with pytest.raises(ConfigError, match="same kind, size"):
        join_replicas(
            [build("emb-mlp"), EmbMLPConfig(width=9).build(vocabulary=3, seeds=1)]
        )


def test_seeds_are_a_count_or_a_list() -> None:
    config = EmbMLPConfig(width=4)
    assert same(
        config.build(vocabulary=5, seeds=3), config.build(vocabulary=5, seeds=[0, 1, 2])
    )
    with pytest.raises(ConfigError, match="at least 1"):
        config.build(vocabulary=5, seeds=0)

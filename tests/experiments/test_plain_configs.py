"""Every config can be converted to JSON and back; other names are refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

import inweights as iw
from inweights.config import Config
from inweights.models.registry import model_kind, model_names
from inweights.recipes import get_recipe, recipe_names
from inweights.worlds.registry import Altered, world_kind, world_names


class Mine(Config):
    width: int = 3
    inner: iw.Init = iw.Init()


MADE: list[Any] = [
    *(world_kind(name)() for name in world_names() if name != "triples"),
    *(model_kind(name)() for name in model_names()),
    iw.learners.path_star(),
    iw.Phase(roles={"edge": 2.0}, stop=iw.Stop(loss_below=0.1)),
    iw.Descent(rate=0.5),
    iw.Optimum(),
    iw.Facts("facts.csv", identity=True),
    Altered(of=iw.TwoHop(n=4), without="identity"),
    Mine(width=4),
]


@pytest.mark.parametrize("config", MADE, ids=lambda config: type(config).__name__)
def test_a_config_comes_back(config: Config) -> None:
    assert iw.from_dict(json.loads(json.dumps(iw.to_dict(config)))) == config


def test_settings_of_recipes_come_back() -> None:
    for name in recipe_names():
        for settings in get_recipe(name).scales.values():
            assert (
                iw.from_dict(json.loads(json.dumps(iw.to_dict(settings)))) == settings
            )


def test_other_mappings_are_taken_and_left_as_they_are() -> None:
    frozen: Mapping[str, Any] = MappingProxyType(
        {"kind": "gpt", "init": MappingProxyType({"std": 1})}
    )
    assert iw.from_dict(frozen) == iw.GPTConfig(init=iw.Init(std=1))
    values = iw.to_dict(iw.Optimizer())
    before = dict(values)
    iw.from_dict(values)
    assert values == before


def test_omegaconf_and_hydra_hold_configs() -> None:
    omegaconf = pytest.importorskip(
        "omegaconf", reason="pip install omegaconf lifts this"
    )
    held = omegaconf.OmegaConf.create(iw.to_dict(iw.learners.two_hop(steps=5)))
    held.phases[0].steps = 7
    assert iw.from_dict(held) == iw.learners.two_hop(steps=7)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "with the key 'kind'"),
        ({"n": 3}, "the given dictionary are 'n'"),
        ({"kind": "gtp"}, "did you mean 'gpt'"),
        ({"kind": ["gpt"]}, "unknown kind"),
        ({"kind": "gpt", "widht": 2}, "did you mean 'width'"),
        ({"kind": "gpt", "width": "wide"}, "width"),
        ({"type": "Optimzer"}, "did you mean 'Optimizer'"),
        ({"type": "sweep"}, "is not a config"),
        ({"type": "os:system"}, "is not a config"),
        ({"type": "inweights.cli:main"}, "is not a config"),
        ({"type": "never_imported:Mine"}, "import never_imported first"),
        ({"type": "json:decoder.x.y"}, "there is no config"),
        ("gpt", "expects a dictionary"),
    ],
)
def test_what_names_no_config_is_refused(values: Any, words: str) -> None:
    with pytest.raises(iw.ConfigError, match=words):
        iw.from_dict(values)


def test_only_configs_are_written() -> None:
    with pytest.raises(iw.ConfigError, match=r"such as iw\.TwoHop"):
        iw.to_dict({"kind": "gpt"})  # type: ignore[arg-type]

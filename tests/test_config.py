"""Configs are strict, and errors name the key, the type and the nearest valid name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from inweights.config import (
    Config,
    apply_overrides,
    decode,
    digest,
    identity,
    load_toml,
    to_plain,
)
from inweights.errors import ConfigError, InweightsError, unknown_name
from inweights.models import GPTConfig, TinyNNConfig
from inweights.seeds import DATA_ORDER, INITIALISATION, WORLD, Streams
from inweights.training import Curriculum, Phase, Schedule
from inweights.worlds import Analogy, Graph, Hops, TwoHop


class Inner(Config):
    width: int = 8
    rate: float | None = None


class Outer(Config):
    inner: Inner = Inner()
    names: tuple[str, ...] = ("a",)
    steps: tuple[Inner, ...] = ()


class Ring(Config, tag_field="kind", tag="ring"):
    nodes: int = 15

    def __post_init__(self) -> None:
        if self.nodes < 3:
            raise ConfigError(f"ring: nodes must be at least 3, got {self.nodes}")


def test_round_trip() -> None:
    config = Outer(inner=Inner(width=3))
    assert decode(Outer, to_plain(config)) == config
    with pytest.raises(AttributeError):
        config.names = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("inner.widht=3", "unknown key 'inner.widht'; did you mean 'inner.width'"),
        ("iner.width=3", "did you mean 'inner'"),
        ("inner.width=wide", "inner.width: expected `int`, got `str`"),
        ("inner.width.x=1", "is a single value, which has no keys"),
        ("inner=3", "inner: expected `object`"),
        ("names=[1]", "expected `str`"),
        ("width", "key=value, got 'width'"),
        ("=3", "key=value"),
    ],
)
def test_bad_overrides(change: str, says: str) -> None:
    with pytest.raises(ConfigError) as error:
        apply_overrides(Outer(), [change])
    assert says in str(error.value)


def test_overrides_are_toml_values() -> None:
    changed = apply_overrides(
        Outer(), ["inner.rate=3e-4", 'names=["x", "y"]', "inner.width=12"]
    )
    assert changed == Outer(inner=Inner(width=12, rate=3e-4), names=("x", "y"))
    assert Outer().inner.width == 8


class ByPath(Config):
    by_path = ("over",)

    over: dict[str, Any] = {}


def test_a_new_path_may_be_set_where_keys_are_paths() -> None:
    for text in ("[16, 32]", "16,32"):
        changed = apply_overrides(ByPath(), [f"over.model.width={text}"])
        assert changed.over == {"model.width": [16, 32]}
        again = apply_overrides(changed, ["over.model.width=[8]", "over.world.n=[4]"])
        assert again.over == {"model.width": [8], "world.n": [4]}
    nested = ByPath(over={"world": {"n": [4]}})  # as in TOML, over.world.n
    assert apply_overrides(nested, ["over.world.n=[5]"]).over == {"world": {"n": [5]}}


def test_nested_unknown_key_in_a_file_names_its_path() -> None:
    with pytest.raises(
        ConfigError, match=r"unknown key 'inner\.widht'; did you mean 'inner\.width'"
    ):
        decode(Outer, {"inner": {"widht": 3}})


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (
            {"steps": [{}, {"rats": 1}]},
            "'steps[1].rats'; did you mean 'steps[1].rate'?",
        ),
        ({"steps": [{"width": 1.5}]}, "steps[0].width: expected `int`, got `float`"),
        ({"inner": {"width": "8"}}, "inner.width: expected `int`, got `str`"),
        ({"inner": {"width": True}}, "inner.width: expected `int`, got `bool`"),
        ({"inner": {"rate": "fast"}}, "inner.rate: expected `float | null`"),
        ({"inner": None}, "inner: expected `object`, got `null`"),
        ({"names": "abc"}, "names: expected `array`, got `str`"),
        ({"zzz": 1}, "unknown key 'zzz'. Known: inner, names, steps"),
    ],
)
def test_decoding_is_strict(values: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as error:
        decode(Outer, values)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_tags() -> None:
    assert to_plain(Ring()) == {"kind": "ring", "nodes": 15}
    assert decode(Ring, {"kind": "ring", "nodes": 4}) == Ring(nodes=4)
    with pytest.raises(ConfigError, match="kind: invalid value 'rong'"):
        decode(Ring, {"kind": "rong"})


def test_a_configs_own_check_is_a_config_error() -> None:
    for make in (
        lambda: Ring(nodes=2),
        lambda: decode(Ring, {"nodes": 2}),
        lambda: apply_overrides(Ring(), ["nodes=2"]),
    ):
        with pytest.raises(ConfigError, match="ring: nodes must be at least 3, got 2"):
            make()


def test_later_overrides_win_and_a_bare_word_is_a_string() -> None:
    changed = apply_overrides(
        Outer(), ["inner.width=1", " inner.width = 2 ", "names=[]"]
    )
    assert changed == Outer(inner=Inner(width=2), names=())
    assert apply_overrides(Ring(), []) == Ring()


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_bytes(b"a = '\xff'")
    with pytest.raises(ConfigError, match="is not text in UTF-8"):
        load_toml(file)
    file.write_text("a = 1\nb = ?\n")
    with pytest.raises(ConfigError, match="line 2"):
        load_toml(file)
    with pytest.raises(ConfigError, match="cannot read"):
        load_toml(tmp_path)


def test_toml_files(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[inner]\nwidth = 4\n")
    assert decode(Outer, load_toml(file)).inner.width == 4
    file.write_text("inner = [")
    with pytest.raises(ConfigError, match="is not a TOML file"):
        load_toml(file)
    with pytest.raises(ConfigError, match="No such file"):
        load_toml(tmp_path / "none.toml")


def test_digest_depends_on_values_only() -> None:
    assert digest({"a": {"x": 1, "y": 2}}) == digest({"a": {"y": 2, "x": 1}})
    assert digest({"a": 1}) != digest({"a": 2})
    assert digest({"a": [1, 2]}) != digest({"a": [2, 1]})
    assert digest(to_plain(Outer())) == digest(
        dict(reversed(to_plain(Outer()).items()))
    )
    assert digest(to_plain(Outer())) != digest(to_plain(Outer(inner=Inner(width=9))))
    values: tuple[Any, ...] = (1, 2, "1", True, None, [], {})
    assert len({digest({"a": value}) for value in values}) == 7
    assert digest({"a": 1}, length=20).startswith(digest({"a": 1}))


def test_digest_stays_the_same_from_one_release_to_the_next() -> None:
    """Run folders are found by the digest, so a change must be mentioned in CHANGELOG.md."""
    assert digest({"b": [1, 2.5, None], "a": {"y": True, "x": "σ"}}) == "3bb597abc0e3"


def test_errors_are_also_built_ins() -> None:
    error = unknown_name("role", "zzz", [])
    assert isinstance(error, ValueError)
    assert isinstance(error, InweightsError)
    assert "Known: none" in str(error)


def test_of_many_names_the_nearest_are_shown() -> None:
    known = [f"fig{i}" for i in range(40)]
    text = str(unknown_name("recipe", "fig100", known))
    assert "did you mean 'fig10'?" in text
    assert text.endswith("and 32 more")
    assert str(unknown_name("recipe", "x", known[:20])).count("fig") == 20


def test_streams_are_counters() -> None:
    one = Streams(7)
    first = one.numpy(DATA_ORDER, 0, "order").permutation(20)
    one.numpy(WORLD).integers(100, size=50)  # other draws have no effect
    np.testing.assert_array_equal(
        first, Streams(7).numpy(DATA_ORDER, 0, "order").permutation(20)
    )
    seeds = [
        Streams(root).seed(*path)
        for root in (0, 1)
        for path in (
            (WORLD,),
            (INITIALISATION,),
            (DATA_ORDER, 1, 11),
            (DATA_ORDER, 11, 1),
        )
    ]
    assert len(set(seeds)) == len(seeds)
    with pytest.raises(ValueError, match="at least 0"):
        Streams(-1)


#: As in code without type checks.
two_hop, gpt, inner, outer, ring = (
    cast("Any", kind) for kind in (TwoHop, GPTConfig, Inner, Outer, Ring)
)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: two_hop(n="10"), "two-hop.n: expected `int`, got `str`"),
        (lambda: two_hop(n=2.5), "two-hop.n: expected `int`, got `float`"),
        (lambda: TwoHop(n=True), "two-hop.n: expected `int`, got `bool`"),
        (
            lambda: two_hop(identity="yes"),
            "two-hop.identity: expected `bool | float`, got `str`",
        ),
        (
            lambda: two_hop(maps="shfit"),
            "'shfit'; did you mean 'shift'? Known: permutation",
        ),
        (lambda: gpt(init=0.1), "gpt.init: expected `object`, got `float`"),
        (lambda: outer(steps=Inner()), "Outer.steps: expected `array`, got `Inner`"),
        (
            lambda: outer(names=np.array([1, 2])),
            "Outer.names[0]: expected `str`, got `int`",
        ),
        (lambda: ring(nodes=None), "ring.nodes: expected `int`, got `None`"),
    ],
)
def test_what_is_built_in_python_is_as_strict_as_what_is_read(build, says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)):
        build()


def test_numbers_of_numpy_and_lists_become_plain() -> None:
    config = inner(width=np.int64(3), rate=np.float64(0.5))
    assert (type(config.width), type(config.rate)) == (int, float)
    assert config == Inner(width=3, rate=0.5)
    listed = outer(names=["b"], steps=[Inner()])
    assert listed == Outer(names=("b",), steps=(Inner(),))
    assert len({listed, Outer(names=("b",), steps=(Inner(),))}) == 1
    assert Inner(rate=1).rate == 1
    # In the stored form, on which the names of runs depend.
    assert type(Inner(rate=1).rate) is int


def test_a_later_option_leaves_the_identity_of_earlier_runs_alone() -> None:
    plain = Curriculum(phases=(Phase(steps=3),))
    named = identity(plain)
    assert "pooled" not in named["phases"][0]
    assert "hold" not in named["phases"][0]["schedule"]
    assert decode(Curriculum, named) == plain
    pooled = Curriculum(phases=(Phase(steps=3, pooled=True),))
    assert identity(pooled)["phases"][0]["pooled"] is True
    assert digest(identity(pooled)) != digest(named)
    # Without later options it is the content of the config, including tags.
    assert identity(Analogy(n=4)) == to_plain(Analogy(n=4))


@pytest.mark.parametrize(
    "kind", [Phase, Schedule, GPTConfig, TinyNNConfig, Graph, Hops]
)
def test_later_options_exist_and_are_off_by_default(kind: type[Config]) -> None:
    assert kind.later
    for name, neutral in kind.later.items():
        assert getattr(kind(), name) == neutral

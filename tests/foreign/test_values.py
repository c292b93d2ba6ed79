"""Users' values are passed unchanged and have distinct keys, or are refused by name."""

from __future__ import annotations

import collections
import dataclasses
import enum
import hashlib
import json
from collections.abc import Callable
from datetime import date, datetime
from functools import partial
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given
from tests.foreign.receivers import SEEN, capped, keep, key_of, look, table_of, task_of
from tests.foreign.values_drawn import many, same, values

import inweights as iw
from inweights.actions.plans import write_plan
from inweights.config import (
    Config,
    apply_overrides,
    as_overrides,
    digest,
    identity,
    load_toml,
)
from inweights.config.border import as_list
from inweights.config.toml_text import parse_toml
from inweights.config.values import MAX_DEPTH, decode, encode, from_json, to_json
from inweights.errors import ConfigError
from inweights.experiments import Measure
from inweights.experiments.engine.executors.serialization import from_wire, to_wire
from inweights.experiments.engine.tasks import ComputeTask
from inweights.experiments.grammar.trial import Plan
from inweights.experiments.grammar.variation.functions import computations_of
from inweights.models.save import decode_model, encode_model

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")


class Settings(Config):
    """A config with a field of any type and a field of numbers."""

    anything: Any = None
    options: dict[str, Any] = {}
    least: float = 0.0


class Inner(Config):
    size: int = 1


class Outer(Config):
    several: tuple[Inner, ...] = ()
    anything: Any = None


class Colour(enum.Enum):
    RED = 1


class Size(enum.IntEnum):
    SMALL = 1


@dataclasses.dataclass(frozen=True)
class Pair:
    one: int = 1


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    SEEN.clear()


def toml_of(data: Any) -> str:
    """Return JSON data as TOML, without code of the library."""
    if isinstance(data, dict):
        return (
            "{"
            + ", ".join(f"{toml_of(k)} = {toml_of(v)}" for k, v in data.items())
            + "}"
        )
    if isinstance(data, list):
        return "[" + ", ".join(map(toml_of, data)) + "]"
    return '{"$none" = true}' if data is None else json.dumps(data, ensure_ascii=False)


@many
@given(values, values)
def test_keys_are_equal_if_and_only_if_values_are(one: Any, other: Any) -> None:
    assert (to_json(one) == to_json(other)) == same(one, other)
    assert (key_of(one) == key_of(other)) == same(one, other)
    assert same(one, from_json(to_json(one)))
    assert key_of([one]) != key_of(one)


@many
@given(values)
def test_a_value_arrives_as_it_was_given(value: Any) -> None:
    line = json.dumps(to_wire(task_of(value)))
    assert same(
        from_wire(json.loads(line), [__name__]).computation.options["settings"]["at"],
        value,
    )
    config = Settings(anything=value, options={"at": value})
    stored = Settings(**decode(json.loads(json.dumps(identity(config)))))
    changed = apply_overrides(
        Settings(), as_overrides(Settings(), {"anything": value, "options.at": value})
    )
    for again in (stored, changed):
        assert same(again.anything, value)
        assert same(again.options["at"], value)
        assert identity(again) == identity(config)


@many
@given(values)
def test_a_value_is_written_in_a_toml_file(value: Any) -> None:
    text = f"at = {toml_of(encode(value))}\n".replace("\x7f", "\\u007f")
    assert same(parse_toml(text)["at"], value)


@pytest.mark.parametrize(
    "value", [(1, [2.0, inf]), {1: nan}, date(2020, 2, 29), np.arange(3)]
)
def test_a_value_is_stored_with_a_plan_and_a_model(value: Any, tmp_path: Path) -> None:
    plan = Plan(computations=computations_of(keep, [[("at", value, "label")]]))
    planned = write_plan(plan, [0], str(tmp_path / "plan"), plugins=[__name__])
    (task,) = planned.tasks(0)
    assert isinstance(task, ComputeTask)
    assert same(task.computation.options["settings"]["at"], value)
    file = tmp_path / "study.toml"
    file.write_text(f"at = {toml_of(encode(value))}\n", encoding="utf-8")
    assert same(load_toml(file)["at"], value)
    model = iw.wrap(table_of, cap=value).build(vocabulary=5, seeds=[0])
    again: Any = decode_model(encode_model(model))
    assert same(again.config.options["cap"], value)


def test_a_sweep_tells_infinities_from_none(tmp_path: Path) -> None:
    given_values = [1.0, inf, -inf, None, nan, True, 1, "1", (1,), [1]]
    about: dict[str, Any] = {"seeds": 1, "runs": tmp_path, "progress": False}
    table = iw.sweep(keep, over={"at": given_values}, **about)
    assert table["said"].to_list() == [repr(one) for one in given_values]
    assert table["at"].n_unique() == len(given_values)
    assert all(map(same, SEEN, given_values))
    SEEN.clear()
    assert iw.sweep(keep, over={"at": given_values}, **about).equals(table)
    assert SEEN == []


def test_labels_tell_true_from_one(tmp_path: Path) -> None:
    about: dict[str, Any] = {"seeds": 1, "runs": tmp_path, "progress": False}
    table = iw.sweep(keep, over={"at": [True, 1]}, **about)
    assert table.select("at", "said").rows() == [("True", "True"), ("1", "1")]
    whole = iw.sweep(keep, over={"at": [True, False]}, **about)
    assert whole["at"].to_list() == [True, False]
    for given_values in (
        [1, 1.0],
        ["1", 1],
        [None, "None"],
        [2**70, 1],
        ["\udc80", "a"],
    ):
        table = iw.sweep(keep, over={"at": given_values}, **about)
        assert table["at"].n_unique() == 2, given_values
        assert table["said"].to_list() == [repr(one) for one in given_values]


@pytest.mark.parametrize(
    "value", [inf, -inf, nan, None, (1, 2), [1, 2], {3: 4}, b"x", date.max]
)
def test_options_of_own_code_arrive(value: Any) -> None:
    model = iw.wrap(table_of, cap=value)
    model.build(vocabulary=5, seeds=[0])
    phase = iw.Phase(loss=partial(capped, cap=value))
    loss: Any = phase.loss
    loss.load()(torch.zeros(1, 2, 3), torch.zeros(1, 2, dtype=torch.long))
    Measure(name="look", probe=look, options={"cap": value}).call(
        iw.EmbMLPConfig(width=4).build(vocabulary=5, seeds=[0]), []
    )
    assert len(SEEN) >= 3
    assert all(same(one, value) for one in SEEN)


def test_options_of_own_code_have_keys() -> None:
    many_values = [
        inf,
        -inf,
        nan,
        None,
        1,
        1.0,
        True,
        "1",
        (1,),
        [1],
        {"1": 1},
        {1: 1},
        -0.0,
        0.0,
    ]

    def keys(make: Callable[[Any], Any]) -> int:
        return len({digest(identity(make(value))) for value in many_values})

    assert keys(lambda value: iw.wrap(table_of, cap=value)) == len(many_values)
    assert keys(lambda value: iw.Phase(loss=partial(capped, cap=value))) == len(
        many_values
    )
    looks = {Measure(name="a", probe=look, options={"cap": v}).key for v in many_values}
    assert len(looks) == len(many_values)
    bound = {Measure(name="a", probe=partial(look, cap=v)).key for v in many_values}
    assert len(bound) == len(many_values)


def test_a_field_of_numbers_keeps_its_key() -> None:
    """Types of a config's fields do not affect keys, so stored runs keep theirs."""
    assert json.dumps(identity(Settings(least=1))) == (
        '{"anything": null, "options": {}, "least": 1}'
    )
    wide: Any = np.int64(64)
    widths = identity(iw.GPTConfig(width=64))
    assert digest(widths) == digest(identity(iw.GPTConfig(width=wide)))
    written = hashlib.sha256(b'{"a":[1,[2,3]],"b":null}').hexdigest()
    assert digest({"b": None, "a": [1, (2, 3)]}) == written[:12]


@pytest.mark.parametrize(
    "axis",
    [
        np.linspace(0, 1, 3),
        [*np.linspace(0, 1, 3)],
        np.linspace(0, 1, 3, dtype="f4"),
        pl.Series([0.0, 0.5, 1.0]),
        torch.linspace(0, 1, 3),
    ],
    ids=["array", "list", "single", "polars", "tensor"],
)
def test_rows_of_numbers_are_lists(axis: Any, tmp_path: Path) -> None:
    about: dict[str, Any] = {"seeds": np.arange(2), "runs": tmp_path, "progress": False}
    table = iw.sweep(keep, over={"at": axis}, **about)
    assert table["at"].to_list() == [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
    assert {type(one) for one in SEEN} == {float}
    study = iw.Study(iw.TwoHop(n=4), over={"world.identity": axis}, seeds=1)
    assert [trial.labels["identity"] for trial in study.trials] == [0.0, 0.5, 1.0]
    assert {type(trial.world.identity) for trial in study.trials} == {float}  # type: ignore[attr-defined]


def test_rows_of_pandas_are_lists() -> None:
    pd = pytest.importorskip("pandas", reason="pip install pandas lifts this")
    for axis in (
        pd.Series([4, 6]),
        pd.Index([4, 6]),
        np.arange(4, 8, 2),
        range(4, 8, 2),
    ):
        study = iw.Study(iw.TwoHop(), over={"world.n": axis}, seeds=pd.Series([3, 5]))
        assert [trial.world.n for trial in study.trials] == [4, 6]  # type: ignore[attr-defined]
        assert study._seeds == (3, 5)


def test_fields_take_rows_and_paths(tmp_path: Path) -> None:
    facts = tmp_path / "facts.csv"
    facts.write_text("a,b,c\nd,b,e\n", encoding="utf-8")
    assert iw.worlds.Triples(path=facts) == iw.worlds.Triples(path=str(facts))  # type: ignore[arg-type]
    given_values: Any = {"edge": np.float32(0.5)}, np.int64(3), np.array(["a"])
    phase = iw.Phase(
        roles=given_values[0], steps=given_values[1], moves=given_values[2]
    )
    assert phase == iw.Phase(roles={"edge": 0.5}, steps=3, moves=("a",))
    assert {type(phase.roles["edge"]), type(phase.moves[0])} == {float, str}


_Point = collections.namedtuple("_Point", "x y")
_ITSELF: list[Any] = []
_ITSELF.append(_ITSELF)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            np.datetime64("2020-01-01", "ns"),
            r"the type numpy.datetime64, .* use a Python date",
        ),
        (np.timedelta64(3, "ns"), "the type numpy.timedelta64"),
        (np.longdouble(1) / 3, r"the type numpy.longdouble, .* use float\(value\)"),
        (np.array([None]), r"the type numpy.ndarray, .* use a list, value.tolist\(\)"),
        (torch.ones(2), r"the type torch.Tensor, .* use its numbers, value.tolist\(\)"),
        (torch.float16, r"the type torch.dtype, .* its name"),
        (pl.Series([1]), r"the type polars.Series, .* value.to_list\(\)"),
        (_Point(1, 2), r"the type _Point, .* value._asdict\(\)"),
        (collections.OrderedDict(a=1), r"the type OrderedDict, .* dict\(value\)"),
        (bytearray(b"x"), r"the type bytearray, .* bytes\(value\)"),
        (10**5000, "the type int, .* at most 4,000 digits"),
        (object(), "the type object, .* make the rest within"),
        (_ITSELF, f"at most {MAX_DEPTH} levels"),
        ({nan: 1, float("nan"): 2}, "keys of a dictionary must be distinct"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_cannot_be_stored_is_refused_by_name(
    value: Any, words: str, tmp_path: Path
) -> None:
    about: dict[str, Any] = {"seeds": 1, "runs": tmp_path, "progress": False}
    with pytest.raises(ConfigError, match=words):
        iw.sweep(keep, over={"at": [value]}, **about)
    with pytest.raises(ConfigError, match=words):
        iw.wrap(table_of, cap=value)
    with pytest.raises(ConfigError, match=words):
        iw.Phase(loss=partial(capped, cap=value))
    with pytest.raises(ConfigError, match=words):
        _ = Measure(name="look", probe=look, options={"cap": value}).key


@pytest.mark.parametrize("name", ["Timestamp", "Timedelta", "NaT", "NA"])
def test_scalars_of_pandas_are_refused_by_name(name: str) -> None:
    pd = pytest.importorskip("pandas", reason="pip install pandas lifts this")
    value = getattr(pd, name)
    value = (
        value("2020-01-01" if name == "Timestamp" else "1h")
        if callable(value)
        else value
    )
    with pytest.raises(ConfigError, match=f"the type pandas.{name}, .* use"):
        to_json(value)


def test_nanoseconds_are_refused() -> None:
    fine = pl.Series("when", [1], dtype=pl.Datetime("ns"))
    with pytest.raises(
        ConfigError, match=r"the series 'when' .* has a resolution of nanoseconds"
    ):
        iw.sweep(keep, over={"at": fine}, progress=False)
    whole = pl.Series("when", [1000], dtype=pl.Datetime("ns"))
    assert as_list(whole) == [datetime.fromisoformat("1970-01-01T00:00:00.000001")]


def test_members_of_an_enum_and_dataclasses_arrive(tmp_path: Path) -> None:
    """They can be used in sweeps, but not in a factory's options, which models store."""
    given_values = [Colour.RED, 1, Size.SMALL, Pair(), {"one": 1}]
    assert len({key_of(one) for one in given_values}) == len(given_values)
    table = iw.sweep(
        keep, over={"at": given_values}, seeds=1, runs=tmp_path, progress=False
    )
    assert table.height == len(given_values)
    assert all(map(same, SEEN, given_values))
    for member in (Colour.RED, Size.SMALL):
        line = json.dumps(to_wire(task_of(member)))
        again = from_wire(json.loads(line), [__name__]).computation.options["settings"][
            "at"
        ]
        assert again is member
        with pytest.raises(ConfigError, match=r"use its value, value\.value"):
            iw.wrap(table_of, cap=member)
    with pytest.raises(ConfigError, match=r"use its fields, dataclasses\.asdict"):
        iw.wrap(table_of, cap=Pair())
    with pytest.raises(ConfigError, match="is not a member of an Enum"):
        from_wire(
            {**to_wire(task_of(1)), "name": {"$member": f"{__name__}:Pair"}}, [__name__]
        )


def test_configs_within_lists_are_written_for_the_command_line() -> None:
    given_values = {"several": (Inner(size=3),), "anything": [(1, inf), Inner()]}
    written = as_overrides(Outer(), given_values)
    changed = apply_overrides(Outer(), written)
    assert changed == Outer(several=(Inner(size=3),), anything=[(1, inf), {"size": 1}])


def test_a_list_that_is_neither_toml_nor_json_is_refused() -> None:
    with pytest.raises(ConfigError, match="a list must be written in TOML"):
        apply_overrides(Outer(anything=[1]), ['anything=[inf, {"$tuple": [1]}]'])
    read = apply_overrides(Outer(anything=[1]), ['anything=[inf, {"$tuple" = [1]}]'])
    assert read.anything == [inf, (1,)]


def test_what_own_code_changes_is_its_own(tmp_path: Path) -> None:
    def change(seed: int, at: list[int]) -> dict[str, int]:
        at.append(seed)
        return {"said": len(at)}

    table = iw.sweep(
        change, over={"at": [[1, 2]]}, seeds=3, runs=tmp_path, progress=False
    )
    assert table["said"].to_list() == [3, 3, 3]


def test_a_table_of_characters_is_read_as_it_is_written(tmp_path: Path) -> None:
    """A dollar sign alone is an ordinary key; followed by a word it denotes a kind of value."""
    file = tmp_path / "characters.toml"
    file.write_text("'$' = 'dollar'\n'&' = 'and'\n", encoding="utf-8")
    assert load_toml(file) == {"$": "dollar", "&": "and"}
    assert decode(encode({"$": inf})) == {"$": inf}

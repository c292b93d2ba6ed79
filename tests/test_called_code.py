"""The hash of a function's code: what it includes, ignores, and how far it is followed."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module, invalidate_caches
from itertools import count
from types import ModuleType

import pytest

from inweights.support.keys.called_code import hash_of_calls

HELPER = """
import math
SCALE = {"b": 2.0, "a": 1}
LIMIT = math.sqrt(SCALE["b"])

def scaled(value):
    return min(value * SCALE["a"], LIMIT)

def unused(value):
    return 0
"""
MINE = """
from PACKAGE import helper
from PACKAGE.helper import unused

def derive(tables):
    found = [helper.scaled(value) for value in tables]
    return found
"""
_numbers = count()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package of two modules under a new name, and return one of them."""
    monkeypatch.syspath_prepend(tmp_path)
    made: list[str] = []

    def write(helper: str = HELPER, mine: str = MINE) -> ModuleType:
        name = f"package_of_calls_{next(_numbers)}"
        made.append(name)
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "helper.py").write_text(helper)
        (folder / "mine.py").write_text(mine.replace("PACKAGE", name))
        invalidate_caches()
        return import_module(f"{name}.mine")

    yield write
    for name in made:
        for module in [one for one in sys.modules if one.partition(".")[0] == name]:
            del sys.modules[module]


def hashed(module: ModuleType, name: str = "derive") -> str:
    return hash_of_calls(getattr(module, name), module.__name__.partition(".")[0])


@pytest.mark.parametrize(
    ("helper", "mine"),
    [
        (HELPER, MINE.replace("(tables):", "(tables: list) -> list:\n    'Scale.'")),
        (HELPER, MINE.replace("    return found", "    # done\n    return found")),
        (HELPER, MINE.replace("derive", "derived_tables")),
        (HELPER.replace("scaled", "times"), MINE.replace("scaled", "times")),
        (HELPER.replace("return 0", "return 1"), MINE),
    ],
    ids=[
        "types and docstring",
        "comment",
        "name",
        "name of a helper",
        "what is not called",
    ],
)
def test_what_computes_the_same_has_the_same_hash(
    package, helper: str, mine: str
) -> None:
    changed = package(helper, mine)
    name = "derived_tables" if "derived_tables" in mine else "derive"
    assert hashed(changed, name) == hashed(package())


@pytest.mark.parametrize(
    ("helper", "mine"),
    [
        (HELPER, MINE.replace("return found", "return found[1:]")),
        (HELPER.replace("min(", "max("), MINE),
        (HELPER.replace('"a": 1', '"a": 3'), MINE),
        (HELPER.replace("math.sqrt", "math.cbrt"), MINE),
        (HELPER, MINE.replace("helper.scaled(value)", "unused(value)")),
    ],
    ids=[
        "itself",
        "a helper",
        "a table",
        "how a constant is computed",
        "another helper",
    ],
)
def test_what_computes_otherwise_has_another(package, helper: str, mine: str) -> None:
    assert hashed(package(helper, mine)) != hashed(package())


def test_a_constant_that_is_no_plain_data_is_read_where_it_is_assigned(package) -> None:
    """For example a polars expression, whose text may differ in a later version."""
    column = (
        MINE
        + "import polars as pl\nKEEP = pl.col('a') > 1\ndef kept(t):\n    return KEEP\n"
    )
    one, other = package(mine=column), package(mine=column.replace("> 1", "> 2"))
    assert hashed(one, "kept") != hashed(other, "kept")
    assert hashed(one, "kept") == hashed(package(mine=column), "kept")


def test_such_a_constant_is_followed_to_the_module_that_assigns_it(package) -> None:
    helper = HELPER + "import polars as pl\nKEEP = pl.col('a') > 1\n"
    mine = (
        MINE
        + "from PACKAGE.helper import KEEP as KEPT\ndef kept(t):\n    return KEPT\n"
    )
    one, other = package(helper, mine), package(helper.replace("> 1", "> 2"), mine)
    assert hashed(one, "kept") != hashed(other, "kept")


def test_options_of_a_partial_count(package) -> None:
    mine = MINE + "def of(tables, column):\n    return tables[column]\n"
    module = package(mine=mine)
    within = module.__name__.partition(".")[0]
    hashes = [
        hash_of_calls(partial(module.of, column=name), within) for name in ("a", "b")
    ]
    assert hashes[0] != hashes[1]


def test_functions_that_call_each_other_have_an_end(package) -> None:
    mine = MINE + "def even(n):\n    return n == 0 or odd(n - 1)\n"
    mine += "def odd(n):\n    return n != 0 and even(n - 1)\n"
    assert hashed(package(mine=mine), "even") == hashed(package(mine=mine), "even")


def test_without_its_source_a_function_has_no_hash() -> None:
    names: dict[str, object] = {}
    exec(
        "def derive(tables):\n    return tables", names
    )  # as in an interactive console
    assert hash_of_calls(names["derive"], "mine") == ""  # type: ignore[arg-type]

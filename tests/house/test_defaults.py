"""Public defaults equal their record, so that a review sees each change of a default.

``tests/data/defaults.tsv`` has the defaults of public functions and of fields of public
classes, the options of class definitions, and public numbers. It does not name modules,
so that moving a definition changes nothing. ``make records`` writes it.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE, RECORD = ROOT / "src", ROOT / "tests/data/defaults.tsv"
#: Help texts and plans are recorded by tests of their own.
ELSEWHERE = ("inweights/cli/", "inweights/recipes/")
Row = tuple[str, str, str]


def defaults() -> Iterator[Row]:
    """Yield each default's owner, name and value as source code."""
    for file in SOURCE.rglob("*.py"):
        if not file.relative_to(SOURCE).as_posix().startswith(ELSEWHERE):
            yield from _within(ast.parse(file.read_text(encoding="utf-8")), "")


def _within(node: ast.Module | ast.ClassDef, place: str) -> Iterator[Row]:
    for one in node.body:
        match one:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _public(one.name):
                yield from _of_function(one, f"{place}{one.name}")
            case ast.ClassDef() if _public(one.name):
                made = [
                    *one.keywords,
                    *chain(*(_options(d) for d in one.decorator_list)),
                ]
                for option in made:
                    yield (
                        f"{place}{one.name}",
                        f"({option.arg})",
                        ast.unparse(option.value),
                    )
                yield from _within(one, f"{place}{one.name}.")
            case (
                ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value)
                | ast.Assign(targets=[ast.Name(name)], value=value)
            ) if _public(name) and (place or _is_number(value)):
                yield place.rstrip("."), name, ast.unparse(value)


def _of_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, place: str
) -> Iterator[Row]:
    own = node.args
    positional = [*own.posonlyargs, *own.args][
        len(own.posonlyargs + own.args) - len(own.defaults) :
    ]
    pairs = [*zip(positional, own.defaults, strict=True)]
    pairs += [(a, d) for a, d in zip(own.kwonlyargs, own.kw_defaults, strict=True) if d]
    for argument, default in pairs:
        yield place, argument.arg, ast.unparse(default)


def _options(decorator: ast.expr) -> list[ast.keyword]:
    return decorator.keywords if isinstance(decorator, ast.Call) else []


def _is_number(value: ast.expr) -> bool:
    """Return whether it is a number, or a literal that contains numbers."""
    kinds = (ast.Constant, ast.Tuple, ast.Dict, ast.UnaryOp, ast.USub, ast.Load)
    parts = list(ast.walk(value))
    numbers = [getattr(one, "value", None) for one in parts]
    return all(isinstance(one, kinds) for one in parts) and any(
        isinstance(number, int | float) for number in numbers
    )


def _public(name: str) -> bool:
    return not name.startswith("_") or name == "__init__"


def test_defaults_are_the_recorded_ones() -> None:
    found = sorted(
        "\t".join(" ".join(text.split()) for text in row) for row in defaults()
    )
    if os.environ.get("INWEIGHTS_WRITE"):
        RECORD.write_text("".join(f"{row}\n" for row in found), encoding="utf-8")
    recorded = RECORD.read_text(encoding="utf-8").splitlines()
    gone, new = Counter(recorded) - Counter(found), Counter(found) - Counter(recorded)
    assert not [*gone, *new], "\n".join(
        [
            "make records writes what is new, and CHANGELOG.md says what changed for users"
        ]
        + [f"recorded: {row}" for row in gone]
        + [f"now:      {row}" for row in new]
    )


def test_public_defaults_and_fields_are_found() -> None:
    rows = set(defaults())
    assert ("project", "seed", "0") in rows
    assert ("Mended", "(eq)", "False") in rows
    assert ("Phase", "at", "'last'") in rows

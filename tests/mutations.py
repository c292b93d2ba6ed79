"""Change recipes at random places, and count how many changes their tests detect.

``python -m tests.mutations [--places 40] [--seed 0] [--only WORD]`` prints a line per
mutant and the share that was detected. A mutant is a copy of the source with one change
in a recipe:

- ``sign``: a plus becomes a minus, a minus a plus, a negation is dropped, ``>`` becomes
  ``<``;
- ``label``: a name of a table, a column or a label's value is misspelt;
- ``swap``: the operands of a subtraction are exchanged;
- ``drop``: a condition of a score is left out.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECIPES = Path("src/inweights/recipes")
SCORES = ("share", "cosine", "number", "computed")
SIGNS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Gt: ast.Lt,
    ast.Lt: ast.Gt,
    ast.GtE: ast.LtE,
    ast.LtE: ast.GtE,
}
#: Kind of a change, its place, and the function that makes it in the syntax tree.
Place = tuple[str, ast.AST, Callable[[], None]]


def places(tree: ast.Module) -> Iterator[Place]:
    """Return every change that can be made in a module."""
    for top in tree.body:
        derives = isinstance(top, ast.FunctionDef) and top.name not in (
            "plan",
            "planner",
        )
        claims = isinstance(top, ast.Assign) or (derives and "Claim" in ast.dump(top))
        for node in ast.walk(top):
            if derives:
                yield from signs(node)
            if claims and isinstance(node, ast.Call):
                yield from scores(node)
            if (
                not claims
                or not isinstance(node, ast.BinOp)
                or not isinstance(node.op, ast.Sub)
            ):
                continue
            if not isinstance(node.right, ast.Constant):
                yield "swap", node, partial(swap, node)


def signs(node: ast.AST) -> Iterator[Place]:
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS and not text(node.left):
        yield "sign", node, partial(setattr, node, "op", SIGNS[type(node.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", node, partial(setattr, node, "op", ast.UAdd())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        yield (
            "sign",
            node,
            partial(node.ops.__setitem__, 0, COMPARED[type(node.ops[0])]()),
        )


def scores(call: ast.Call) -> Iterator[Place]:
    name = (
        call.func.id
        if isinstance(call.func, ast.Name)
        else getattr(call.func, "attr", "")
    )
    if name not in (*SCORES, "at", "of", "over"):
        return
    for one in (*call.args, *(k.value for k in call.keywords)):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield "label", one, partial(setattr, one, "value", one.value + "x")
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield "drop", call, partial(call.keywords.remove, keyword)


def swap(node: ast.BinOp) -> None:
    node.left, node.right = node.right, node.left


def text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def survives(file: Path, source: str) -> bool:
    """Return whether the tests of a recipe pass with a changed source file."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("src", "tests"):
            shutil.copytree(
                ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        shutil.copy(ROOT / "pyproject.toml", root)
        (root / file).write_text(source, encoding="utf-8")
        words = [*file.parts[3:-1], file.stem.replace("_", "-")]
        own = " and ".join(word.replace("_", "-") for word in words)
        which = f"({own}) or derive or stated or derived or calibration"
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        command += ["tests/recipes", "-m", "not slow", "-k", which]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True)
        return done.returncode in (0, 5)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--places", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    files = [p for p in sorted((ROOT / RECIPES).rglob("*.py")) if given.only in str(p)]
    known = [
        (file.relative_to(ROOT), place)
        for file in files
        for place in range(
            len(list(places(ast.parse(file.read_text(encoding="utf-8")))))
        )
    ]
    chosen = rng.sample(known, min(given.places, len(known)))
    alive = 0
    for file, place in chosen:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        kind, node, change = list(places(tree))[place]
        line, before = getattr(node, "lineno", 0), ast.unparse(node)
        change()
        lives = survives(file, ast.unparse(tree))
        alive += lives
        fate = "SURVIVED" if lives else "killed"
        print(f"{fate:9}{kind:6} {file}:{line}  {before[:90]}", flush=True)  # noqa: T201
    print(f"{len(chosen) - alive} of {len(chosen)} killed")  # noqa: T201
    return int(alive > len(chosen) / 10)


if __name__ == "__main__":
    sys.exit(main())

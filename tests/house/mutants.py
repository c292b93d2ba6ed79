"""``make mutants``: small changes of the code, drawn at random, that the tests must notice.

A change is one comparison, sign, constant, ``and``/``or`` or return value of a module of ``AREAS``.
The tests of its area that name something public of the module run in a copy of the tree.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
#: Modules, as a pattern below ``src/inweights``, and the folders or files of their tests.
AREAS = {
    "lab/grammar/verdict.py": [
        "tests/lab/test_verdict.py", "tests/lab/test_divergence.py", "tests/lab/test_looks.py",
    ],
    "lab/grammar/score.py": ["tests/lab/test_verdict.py", "tests/lab/test_divergence.py"],
    "audit/**/*.py": ["tests/audit"],
    "probes/**/*.py": ["tests/probes", "tests/test_golden.py"],
    "theory/prediction/*.py": [
        "tests/theory/test_prediction.py", "tests/theory/test_margin_bounds.py",
        "tests/theory/test_kinds_of_questions.py", "tests/theory/test_any_facts.py",
        "tests/theory/test_limits_kept.py", "tests/theory/test_stabilisation.py",
        "tests/audit/test_audit.py", "tests/audit/test_parts.py",
    ],
    "lm/model/score.py": ["tests/lm"],
}  # fmt: skip
#: Seconds after which a change that makes the tests wait counts as noticed.
PATIENCE = 300
TIER = "not slow and not gpu and not network and not browser"
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Mutant(NamedTuple):
    """One expression of a file, by the places of its bytes, and what stands there instead."""

    area: str
    file: Path
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} -> {self.new}"


def mutants(area: str, file: Path) -> Iterator[Mutant]:
    """Every change of a file. Types, messages of errors and text are none."""
    source = file.read_bytes()
    starts = [0]
    for row in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        hints = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        silent = isinstance(node, ast.Raise | ast.JoinedStr)
        for root in [node] if silent else [hint for hint in hints if isinstance(hint, ast.AST)]:
            skipped |= {id(one) for one in ast.walk(root)}
        if id(node) in skipped:
            continue
        for old, new in _changes(node):
            start = starts[old.lineno - 1] + old.col_offset
            end = starts[(old.end_lineno or 0) - 1] + (old.end_col_offset or 0)
            before = source[start:end].decode()
            yield Mutant(area, file.relative_to(ROOT), old.lineno, start, end, before, f"({new})")


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        swapped: ast.expr = ast.Compare(node.left, [_swap(node.ops[0])], node.comparators)
        yield node, ast.unparse(swapped)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        sides = (node.left, node.right)
        texts = (ast.JoinedStr, ast.List, ast.Tuple)
        if not any(isinstance(s, texts) or _is_text(s) for s in sides):
            yield node, ast.unparse(ast.BinOp(node.left, _swap(node.op), node.right))
    elif isinstance(node, ast.BoolOp):
        yield node, ast.unparse(ast.BoolOp(_swap(node.op), node.values))
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        new = not node.value if isinstance(node.value, bool) else node.value + 1
        yield node, repr(new)
    elif isinstance(node, ast.Return) and node.value is not None:
        yield node.value, "None"


def _swap(operator: ast.AST) -> ast.AST:  # type: ignore[return]
    return _SWAPS[type(operator)]()


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def draw(seed: int, count: int) -> list[Mutant]:
    """Return changes, as many of each area, each area's by chance."""
    rng = random.Random(seed)
    drawn = []
    for area in AREAS:
        files = sorted((ROOT / "src/inweights").glob(area))
        every = [one for file in files for one in mutants(area, file)]
        drawn += rng.sample(every, min(len(every), count // len(AREAS)))
    return drawn


def tests_of(mutant: Mutant) -> list[str]:
    """The module's own examples, and the files of its area that name something public of it."""
    said = re.search(r"__all__ = \[(.*?)\]", (ROOT / mutant.file).read_text(), re.DOTALL)
    words = {*re.findall(r'"(\w+)"', said[1] if said else ""), mutant.file.stem}
    named = re.compile(rf"\b({'|'.join(sorted(words))})\b")
    places = [ROOT / place for place in AREAS[mutant.area]]
    files = [f for p in places for f in ([p] if p.is_file() else sorted(p.glob("test_*.py")))]
    found = [f for f in files if named.search(f.read_text(encoding="utf-8"))]
    return [str(mutant.file), *(str(f.relative_to(ROOT)) for f in found or files)]


def first_failure(tree: Path, tests: list[str], *options: str, patience: int = PATIENCE) -> str:
    """Which test fails in a copy of the tree; empty if none does."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", TIER]
    env = {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [*command, *options, *tests], cwd=tree, env=os.environ | env, capture_output=True,
            text=True, timeout=patience, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "takes too long"
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", done.stdout, re.MULTILINE)
    return "" if done.returncode == 0 else failed[1] if failed else "cannot be loaded"


def noticed(mutant: Mutant, tree: Path) -> str:
    """Which test notices a change in a copy of the tree; empty if none does."""
    place = tree / mutant.file
    source = place.read_bytes()
    place.write_bytes(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
    try:
        return first_failure(tree, tests_of(mutant))
    finally:
        place.write_bytes(source)


def main() -> int:
    """Draw changes, try each, and list those that no test notices."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    drawn, trees = draw(asked.seed, asked.count), Queue[Path]()
    with tempfile.TemporaryDirectory() as folder:
        for job in range(asked.jobs):
            left_out = shutil.ignore_patterns(".*", "__pycache__", "_build")
            tree = Path(shutil.copytree(ROOT, Path(folder) / str(job), ignore=left_out))
            trees.put(tree)
        every = sorted({test for mutant in drawn for test in tests_of(mutant)})
        if failed := first_failure(tree, every, "-n", str(asked.jobs), patience=3600):
            print(f"{failed}: the tests fail as it is; nothing can be said")
            return 2

        def tried(mutant: Mutant) -> str:
            tree = trees.get()
            try:
                return noticed(mutant, tree)
            finally:
                trees.put(tree)

        survived = 0
        with ThreadPoolExecutor(asked.jobs) as pool:
            for mutant, by in zip(drawn, pool.map(tried, drawn), strict=True):
                survived += not by
                print(f"{'noticed ' if by else 'SURVIVED'} {mutant}  [{by}]", flush=True)
    print(f"{len(drawn) - survived} of {len(drawn)} were noticed (seed {asked.seed})")
    return int(survived > 0)


if __name__ == "__main__":
    raise SystemExit(main())

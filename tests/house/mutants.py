"""``make mutants``: check that the tests notice small random changes of the code.

A change affects one comparison, sign, constant, ``and``/``or`` or return value of a
module of ``AREAS``. In a copy of the tree, the tests of its area that name something
public of the module run, and the test of public defaults.
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
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
#: Modules, as patterns below ``src/inweights``, and patterns of their tests.
AREAS = {
    "experiments/claims/verdict.py experiments/claims/needed_seeds.py": (
        "experiments/test_verdict.py experiments/test_intervals.py experiments/test_looks.py "
        "recipes/test_published.py"
    ),
    "experiments/claims/score.py experiments/claims/claim.py": (
        "experiments/test_[dv]* experiments/test_looks.py experiments/test_rec* "
        "recipes/test_published.py"
    ),
    "audit/**/*.py": "audit/test_*",
    "probes/**/*.py": "probes/test_* test_golden.py",
    "theory/prediction/**/*.py": "theory/test_*pre* theory/test_[acklm]* audit/test_*",
    "lm/model/score.py": "lm/test_*",
}
#: The test that compares the public defaults of all modules with their record.
DEFAULTS = "tests/house/test_defaults.py"
#: Seconds after which tests of a change are ended, and the change counts as noticed. All
#: tests of a module take less on a busy machine.
PATIENCE = 900
TIER = "not gpu and not network and not browser"
_SWAPS: dict[type[ast.AST], type[Any]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


class Mutant(NamedTuple):
    """An expression of a file, the position of its first byte, and its replacement."""

    area: str
    file: Path
    line: int
    start: int
    old: str
    new: str


def mutants(area: str, file: Path) -> Iterator[Mutant]:
    """Yield every change of a file, except in types, error messages, text and assertions.

    Assertions, such as ``strict=True`` of ``zip``, are left out, as they only fail if
    other code is wrong.
    """
    source = file.read_bytes()
    rows = source.splitlines(keepends=True)
    starts = [sum(map(len, rows[:i])) for i in range(len(rows))]
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        roots = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        roots += (
            [node] if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert) else []
        )
        roots += (
            [node] if isinstance(node, ast.keyword) and node.arg == "strict" else []
        )
        skipped |= {id(one) for root in roots if root for one in ast.walk(root)}
        for old, new in () if id(node) in skipped else changes(node):
            start = starts[old.lineno - 1] + old.col_offset
            end = starts[(old.end_lineno or 0) - 1] + (old.end_col_offset or 0)
            said = source[start:end].decode()
            yield Mutant(
                area, file.relative_to(ROOT), old.lineno, start, said, f"({new})"
            )


def changes(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield an expression of a node with its replacement, if there is one."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        swapped = _SWAPS[type(node.ops[0])]()
        yield node, ast.unparse(ast.Compare(node.left, [swapped], node.comparators))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        sides, joined = (node.left, node.right), ast.JoinedStr | ast.List | ast.Tuple
        texts = [isinstance(getattr(one, "value", None), str) for one in sides]
        if not any(texts) and not any(isinstance(one, joined) for one in sides):
            yield (
                node,
                ast.unparse(ast.BinOp(node.left, _SWAPS[type(node.op)](), node.right)),
            )
    elif isinstance(node, ast.BoolOp):
        yield node, ast.unparse(ast.BoolOp(_SWAPS[type(node.op)](), node.values))
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield (
            node,
            repr(not node.value if isinstance(node.value, bool) else node.value + 1),
        )
    elif isinstance(node, ast.Return) and ast.unparse(node) not in (
        "return",
        "return None",
    ):
        assert node.value is not None
        yield node.value, "None"


def draw(seed: int, count: int) -> list[Mutant]:
    """Return the same number of random changes of each area."""
    rng, drawn = random.Random(seed), []
    for area in AREAS:
        files = sorted(
            one for part in area.split() for one in (ROOT / "src/inweights").glob(part)
        )
        every = [one for file in files for one in mutants(area, file)]
        drawn += rng.sample(every, min(len(every), count // len(AREAS)))
    return drawn


def tests_of(mutant: Mutant) -> list[str]:
    """Return the module, and the test files of its area that name something public of it.

    Names of modules that import it count as well, as tests may only use it through them.
    """
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    public = re.findall(r"^(?:(?:def |class )[A-Za-z]|[A-Z])\w*", text, re.MULTILINE)
    words = {*(name.split()[-1] for name in public), mutant.file.stem}
    dotted = ".".join(mutant.file.with_suffix("").parts[1:])
    words |= {
        file.stem
        for file in (ROOT / "src").rglob("*.py")
        if file.stem != "__init__"
        and f"from {dotted} import" in file.read_text("utf-8")
    }
    named = re.compile(rf"\b({'|'.join(sorted(words))})\b")
    globs = [sorted((ROOT / "tests").glob(one)) for one in AREAS[mutant.area].split()]
    files = [file for found in globs for file in found]
    found = [
        f
        for f in files
        if "golden" in f.name or named.search(f.read_text(encoding="utf-8"))
    ]
    return [
        str(mutant.file),
        DEFAULTS,
        *(str(file.relative_to(ROOT)) for file in found or files),
    ]


def first_failure(tree: Path, *words: str, patience: float) -> str:
    """Return the first test that fails in a copy of the tree; empty if none does."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        TIER,
    ]
    env = {
        "PYTHONPATH": str(tree / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }
    try:
        done = subprocess.run(
            [*command, *words],
            cwd=tree,
            env=os.environ | env,
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "takes too long"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+\.py[^\s[]*)", done.stdout, re.MULTILINE)
    return "" if done.returncode == 0 else failed[1] if failed else "cannot be loaded"


def main() -> int:
    """Draw changes, test each, and print whether a test notices it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    for name, value in {"seed": 0, "count": 60, "jobs": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    drawn, trees, missed = draw(asked.seed, asked.count), Queue[Path](), 0

    def tried(mutant: Mutant) -> str:
        tree = trees.get()
        place, source = tree / mutant.file, (ROOT / mutant.file).read_bytes()
        before, after = (
            source[: mutant.start],
            source[mutant.start + len(mutant.old.encode()) :],
        )
        place.write_bytes(before + mutant.new.encode() + after)
        try:
            return first_failure(tree, *tests_of(mutant), patience=PATIENCE)
        finally:
            place.write_bytes(source)
            trees.put(tree)

    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(asked.jobs) as pool,
    ):
        left_out = shutil.ignore_patterns(".*", "__pycache__", "_build")
        for job in range(asked.jobs):
            trees.put(
                Path(shutil.copytree(ROOT, Path(folder) / str(job), ignore=left_out))
            )
        failing = set()
        for one, by in zip(drawn, pool.map(tried, drawn), strict=True):
            missed += not by
            failing |= {by} if "/" in by else set()
            change = f"{one.file}:{one.line}: {one.old} -> {one.new}"
            print(f"{'noticed ' if by else 'SURVIVED'} {change}  [{by}]", flush=True)
        if failing and (
            by := first_failure(Path(folder) / "0", *sorted(failing), patience=3600)
        ):
            print(f"{by} fails as the code is; what it noticed does not count")
            return 2
    print(f"{len(drawn) - missed} of {len(drawn)} were noticed (seed {asked.seed})")
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())

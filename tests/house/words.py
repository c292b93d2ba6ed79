"""``make check`` ends with this: find private words in messages, help texts and docs.

Users know the standard words of the field and not those of this project. The project's
own terms that remain in use are defined in ``docs/glossary.md``.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from typing import Any

from tests.house.imports import SOURCE

ROOT = SOURCE.parents[1]
#: Patterns of private words, and the standard words to use instead.
WORDS = {
    r"un?told|foretold|told": "stated, trained on, reported",
    r"forecast(s|er|ers|ing)?": "prediction (of facts), cost estimate (of a run)",
    r"let go": "dropped",
    r"diets?": "training mixture",
    r"crews?": "worker pool",
    r"lessons?": "data set",
    r"(stand|stands|stood) still": "is frozen",
    r"(come|comes|came|bring|brings) about": "is trained, is caused",
    r"mended?": "correct",
    r"settled?": "decide",
    r"is no \w+ but|is none of": "must be …, got …",
    r"so that it stays": "refusing to …",
    r"is (at least|at most|above|from) [^;:|.]{1,40}, not": "must be …, got …",
    r"(a|one) (line|row|process|seed|replica|token) (a|an) \w+": "one … per …",
    r"lies? as the": "reflects the",
}
_WORDS = re.compile("|".join(rf"(?:\b(?:{word})\b)" for word in WORDS), re.IGNORECASE)
#: Files whose strings are data: what language models read, and the records of recipes.
_DATA = (
    "recipes/",
    "worlds/knowledge/words/english.py",
    "lm/exams/general.py",
    "lm/tuning/writing.py",
)
#: Files of texts for language models, and of data about words.
_TABLES = (
    "lm/exams/general.toml",
    "lm/tuning/writing.toml",
    "worlds/knowledge/",
)
#: Pages that are written by a command from texts that are checked at their source.
_WRITTEN = ("board.md", "commands.md")


def messages() -> Iterator[tuple[str, str]]:
    """Yield the place and text of every string of the source, except docstrings and data."""
    for path in sorted(SOURCE.rglob("*.py")):
        where = path.relative_to(SOURCE).as_posix()
        if where.startswith(_DATA):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        docs = {
            id(doc) for node in ast.walk(tree) if (doc := _docstring(node)) is not None
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            # The docstring of a command is its --help.
            if where.startswith("cli/commands/") or id(node) not in docs:
                yield f"{where}:{node.lineno}", _plain(node.value)


def texts() -> Iterator[tuple[str, str]]:
    """Yield the place and text of TOML strings and Markdown lines of the source."""
    for path in sorted(SOURCE.rglob("*.toml")):
        where = path.relative_to(SOURCE).as_posix()
        if not where.startswith(_TABLES):
            for name, text in _strings(tomllib.loads(path.read_text("utf-8"))):
                yield f"{where}:{name}", _plain(text)
    for path in sorted(SOURCE.rglob("*.md")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            yield f"{path.relative_to(SOURCE).as_posix()}:{number}", _plain(line)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the place and text of every line of the docs, without code."""
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]:
        if path.name in _WRITTEN or {"_build", "api", "commands", "recipes"} & set(
            path.parts
        ):
            continue
        code = False
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            code ^= line.lstrip().startswith("```")
            if not code:
                yield f"{path.relative_to(ROOT)}:{number}", _plain(line)


def found() -> list[str]:
    """Return a line for each private word: its place, the word and the text."""
    return [
        f"{place}: '{word.group()}' in {text.strip()[:80]!r}"
        for source in (messages(), texts(), pages())
        for place, text in source
        if len(re.findall(r"[a-z]{2,}", text, re.IGNORECASE)) > 1
        and (word := _WORDS.search(text))
    ]


def _docstring(node: ast.AST) -> ast.AST | None:
    if not isinstance(
        node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    ):
        return None
    first = node.body[0] if node.body else None
    return first.value if isinstance(first, ast.Expr) else None


def _strings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield strings of a TOML value, except texts of claims, which the ledger fixes."""
    if isinstance(value, str):
        if not re.fullmatch(r"\.claims\.[^.]+\.says", name):
            yield name.removeprefix("."), value
    elif isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _strings(one, f"{name}.{key}")


def _plain(text: str) -> str:
    """Return the text without inline code, roles, links, formulas and options."""
    text = re.sub(r"\{\w[\w:.-]*\}`[^`]*`|`+[^`]*`+|\]\([^)]*\)|\$[^$]*\$", " ", text)
    return re.sub(r"--[\w-]+|\w+(?:[-_/.]\w+)+|(?m:^ +\w+(?:$|:))|\{\w+\}", " ", text)


if __name__ == "__main__":
    sys.exit("\n".join(found()) or None)

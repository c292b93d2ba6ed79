"""``make check`` ends with this: words that must not come back in messages, help texts and docs.

The reader of a message knows the field's words and not ours. A term of ours that stays
is in ``docs/glossary.md``.
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
#: Pattern of what must not come back, and the standard word for it.
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
#: Files of words that language models read, and of what is known of words.
_TABLES = (
    "lm/exams/general.toml",
    "lm/tuning/writing.toml",
    "worlds/knowledge/",
)
#: Pages that a command writes, from texts that are read where they stand.
_WRITTEN = ("board.md", "commands.md")


def messages() -> Iterator[tuple[str, str]]:
    """Every text of the source that people read, with its place."""
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
            # --help is a docstring.
            if where.startswith("cli/commands/") or id(node) not in docs:
                yield f"{where}:{node.lineno}", _plain(node.value)


def texts() -> Iterator[tuple[str, str]]:
    """Every text of the source's TOML, and every line of its Markdown, with its place."""
    for path in sorted(SOURCE.rglob("*.toml")):
        where = path.relative_to(SOURCE).as_posix()
        if not where.startswith(_TABLES):
            for name, text in _strings(tomllib.loads(path.read_text("utf-8"))):
                yield f"{where}:{name}", _plain(text)
    for path in sorted(SOURCE.rglob("*.md")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            yield f"{path.relative_to(SOURCE).as_posix()}:{number}", _plain(line)


def pages() -> Iterator[tuple[str, str]]:
    """Every line of the docs, without its code, with its place."""
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
    """Each word that came back: its place, the word, the text."""
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
    """Strings within a TOML value; a claim stays as the ledger states it."""
    if isinstance(value, str):
        if not re.fullmatch(r"\.claims\.[^.]+\.says", name):
            yield name.removeprefix("."), value
    elif isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _strings(one, f"{name}.{key}")


def _plain(text: str) -> str:
    """The text without inline code, roles, addresses, options, dotted and named options."""
    text = re.sub(r"\{\w[\w:.-]*\}`[^`]*`|`+[^`]*`+|\]\([^)]*\)|\$[^$]*\$", " ", text)
    return re.sub(r"--[\w-]+|\w+(?:[-_/.]\w+)+|(?m:^ +\w+(?:$|:))|\{\w+\}", " ", text)


if __name__ == "__main__":
    sys.exit("\n".join(found()) or None)

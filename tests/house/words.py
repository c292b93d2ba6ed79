"""``make check`` ends with this: words that must not come back in messages, help texts and docs.

The reader of a message knows the field's words and not ours. A term of ours that stays is in
``docs/glossary.md``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

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
    "worlds/knowledge/english.py",
    "lm/exams/general.py",
    "lm/tuning/writing.py",
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
        docs = {id(doc) for node in ast.walk(tree) if (doc := _docstring(node)) is not None}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if where.startswith("cli/commands/") or id(node) not in docs:  # --help is a docstring
                yield f"{where}:{node.lineno}", _plain(node.value)


def pages() -> Iterator[tuple[str, str]]:
    """Every line of the docs, without its code, with its place."""
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]:
        if path.name in _WRITTEN or {"_build", "api", "commands", "recipes"} & set(path.parts):
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
        for source in (messages(), pages())
        for place, text in source
        if len(re.findall(r"[a-z]{2,}", text, re.IGNORECASE)) > 1 and (word := _WORDS.search(text))
    ]


def _docstring(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    first = node.body[0] if node.body else None
    return first.value if isinstance(first, ast.Expr) else None


def _plain(text: str) -> str:
    """The text without inline code, roles, addresses, options, dotted and named options."""
    text = re.sub(r"\{\w[\w:.-]*\}`[^`]*`|`+[^`]*`+|\]\([^)]*\)|\$[^$]*\$", " ", text)
    return re.sub(r"--[\w-]+|\w+(?:[-_/.]\w+)+|(?m:^ +\w+(?:$|:))|\{\w+\}", " ", text)


if __name__ == "__main__":
    sys.exit("\n".join(found()) or None)

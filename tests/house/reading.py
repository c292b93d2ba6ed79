"""Measure how dense the code is, and how completely functions are documented.

:mod:`tests.house.metrics` prints these numbers with their limits. Each ``places``
function returns places as ``file:line`` or ``file:line name``, so that they can be
listed as well as counted.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.house.imports import SOURCE

#: Lines with more characters count as wide.
WIDE = 95
#: Folders of the repository with code that is not part of the package.
ELSEWHERE = ("tests", "benchmarks", "docs", "examples")
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


class Module(NamedTuple):
    """A file of the package: its name below ``inweights``, its text and its syntax tree."""

    name: str
    text: str
    tree: ast.Module


class Function(NamedTuple):
    """A function or method, with its place."""

    place: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    public: bool

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters without ``self`` and ``cls``."""
        given = self.node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        return [one.arg for one in every if one.arg not in ("self", "cls")]

    @property
    def lines(self) -> int:
        """Number of lines from ``def`` to the end of the body, without the docstring."""
        total = (self.node.end_lineno or 0) - self.node.lineno + 1
        if ast.get_docstring(self.node, clean=False) is None:
            return total
        first = self.node.body[0]
        return total - ((first.end_lineno or 0) - first.lineno + 1)


@cache
def modules(folder: Path = SOURCE) -> tuple[Module, ...]:
    """Return every module of a folder, parsed."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found.append(Module(str(path.relative_to(folder)), text, ast.parse(text)))
    return tuple(found)


def functions() -> Iterator[Function]:
    """Yield all functions; in public ones no part of the name has a leading underscore."""
    for module in modules():
        yield from _functions(module.tree, module.name, True)


def _functions(tree: ast.AST, where: str, public: bool) -> Iterator[Function]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            seen = public and not node.name.startswith("_")
            yield Function(f"{where}:{node.lineno} {node.name}", node, seen)
            # Functions that are defined inside of a function are private.
            yield from _functions(node, where, False)
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, where, public and not node.name.startswith("_"))
        else:
            yield from _functions(node, where, public)


def tokens_a_line() -> float:
    """Return the mean number of tokens per line of code, without docstrings and comments.

    An f-string is one token on Python 3.11, and several from 3.12 on; the limit of
    :mod:`tests.house.metrics` refers to 3.11.
    """
    return sum(_size(module.text)[0] for module in modules()) / max(code_lines(), 1)


def code_lines() -> int:
    """Return the number of lines that hold code."""
    return sum(_size(module.text)[1] for module in modules())


@cache
def _size(text: str) -> tuple[int, int]:
    """Return the numbers of tokens of code and of lines with such tokens in a text."""
    tokens = 0
    lines: set[int] = set()
    for token in _code(text):
        tokens += 1
        lines.update(range(token.start[0], token.end[0] + 1))
    return tokens, len(lines)


def _code(text: str) -> Iterator[tokenize.TokenInfo]:
    """Yield tokens that are neither layout, comments nor docstrings."""
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _LAYOUT:
            begins = begins or token.type in (
                tokenize.NEWLINE,
                tokenize.INDENT,
                tokenize.DEDENT,
            )
            continue
        if not (begins and token.type == tokenize.STRING):
            yield token
        begins = False


def comment_lines() -> int:
    """Return the number of lines that only have a comment, without ``# fmt`` comments."""
    total = 0
    for module in modules():
        lines = [line.strip() for line in module.text.splitlines()]
        total += sum(
            line.startswith("#") and not line.startswith("# fmt") for line in lines
        )
    return total


def places_of_comprehensions(*, nested: bool = False) -> list[str]:
    """Return places of comprehensions; ``nested``: those with another or several ``for``."""
    found = []
    for module in modules():
        for node in ast.walk(module.tree):
            if not isinstance(node, COMPREHENSIONS):
                continue
            inner = [one for one in ast.walk(node) if isinstance(one, COMPREHENSIONS)]
            if not nested or len(inner) > 1 or len(node.generators) > 1:
                found.append(f"{module.name}:{node.lineno}")
    return found


def places_of_chained_conditionals() -> list[str]:
    """Return places of conditional expressions that have another one as a part."""
    found = []
    for module in modules():
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.IfExp):
                continue
            parts = (node.test, node.body, node.orelse)
            if any(isinstance(one, ast.IfExp) for one in parts):
                found.append(f"{module.name}:{node.lineno}")
    return found


def places_of_skipped_formatting() -> list[str]:
    """Return places where ``# fmt: skip`` or ``# fmt: off`` disables the formatter.

    Code of the package, tests, benchmarks, documentation and examples is searched. A
    literal that contains only numbers (and texts as keys) is a table of numbers, which
    may be laid out by hand.
    """
    elsewhere = [
        module._replace(name=f"{folder}/{module.name}")
        for folder in ELSEWHERE
        for module in modules(SOURCE.parents[1] / folder)
    ]
    found = []
    for module in [*modules(), *elsewhere]:
        tables = set()
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            if node.value is not None and _is_table_of_numbers(node.value):
                tables.add(node.end_lineno)
        for number, comment in _comments(module.text):
            skipped = comment.startswith(("# fmt: skip", "# fmt: off"))
            if skipped and number not in tables:
                found.append(f"{module.name}:{number}")
    return found


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the text of every comment."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _is_table_of_numbers(value: ast.expr) -> bool:
    """Return whether all leaves of a literal are numbers, except keys of dictionaries."""
    match value:
        case ast.List() | ast.Tuple() | ast.Set():
            return all(map(_is_number_or_table, value.elts))
        case ast.Dict():
            return all(map(_is_number_or_table, value.values))
    return False


def _is_number_or_table(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float)
    return _is_table_of_numbers(value)


def places_of_wide_lines() -> list[str]:
    """Return the lines with more characters than :data:`WIDE`."""
    found = []
    for module in modules():
        for number, line in enumerate(module.text.splitlines(), 1):
            if len(line) > WIDE:
                found.append(f"{module.name}:{number}")
    return found


def places_without(section: str, least: int = 2) -> list[str]:
    """Return public functions whose docstring lacks a section, such as ``Args``.

    Commands are left out, as the docstrings of their groups of options describe these, and
    functions that inherit their docstring.

    Args:
        section: The section's heading.
        least: Lowest number of parameters of the functions that are checked.
    """
    found = []
    for function in functions():
        text = ast.get_docstring(function.node)
        of_a_command = function.place.startswith("cli/commands/")
        if not function.public or text is None or of_a_command:
            continue
        if len(function.parameters) >= least and f"{section}:" not in text:
            found.append(function.place)
    return found


def places_without_a_result() -> list[str]:
    """Return public functions whose docstring does not describe what they return.

    A section ``Returns`` or ``Yields`` describes it, or a first line that begins with one
    of these verbs or contains the word "return". Properties are left out, as their names
    describe what they return.
    """
    verbs = (
        "Return",
        "Yield",
        "Build",
        "Make",
        "Read",
        "Load",
        "Open",
        "Compute",
        "Count",
        "List",
    )
    found = []
    for function in functions():
        text = ast.get_docstring(function.node)
        if (
            not function.public
            or text is None
            or function.place.startswith("cli/commands/")
        ):
            continue
        marks = {ast.unparse(mark) for mark in function.node.decorator_list}
        result = ast.unparse(function.node.returns) if function.node.returns else "None"
        silent = result in ("None", "NoReturn") or marks & {
            "property",
            "cached_property",
        }
        first = text.partition("\n")[0]
        said = "Returns:" in text or "Yields:" in text or first.startswith(verbs)
        said = said or "return" in first.split()
        if not silent and not said:
            found.append(function.place)
    return found

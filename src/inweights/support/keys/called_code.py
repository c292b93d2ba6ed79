"""Hash the parsed source of a function and of all functions that it calls.

:func:`hash_of_calls` is used for code whose results are stored. Formatting, comments,
docstrings, type hints, and the names and modules of the functions that are followed do
not affect the hash.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from inweights.support.keys.source_code import dumped, hashed

_Function = ast.FunctionDef | ast.AsyncFunctionDef
#: Types whose values have their own names; others are identified by their type's name.
_NAMED = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def hash_of_calls(function: Callable[..., Any], within: str) -> str:
    """Return a hash of a function's code and of all code that it calls.

    Functions and classes of the package ``within`` are followed wherever a name refers
    to them. Other values in modules of this package are identified by the code that
    assigns them. Everything else is identified by its name.

    Args:
        function: A function of a module, or a ``functools.partial`` of one.
        within: Dotted name of the package whose functions are followed, such as
            ``inweights.recipes``.

    Returns:
        16 hexadecimal digits; "" if there is no source, as for built-in functions.

    Example:
        >>> from inweights.recipes import get_recipe
        >>> derive = get_recipe("feature-resemblance/table1").derive
        >>> len(hash_of_calls(derive, "inweights.recipes"))
        16
    """
    bare = function.func if isinstance(function, partial) else function
    try:
        inspect.getsource(bare)
    except (OSError, TypeError):
        return ""
    return hashed(_Calls(within).meaning(function))


class _Calls:
    """Description of what functions compute; each function is read only once."""

    def __init__(self, within: str) -> None:
        self.within = within
        self._known: dict[int, str] = {}
        self._open: list[object] = []

    def meaning(self, value: Any) -> str:
        """Return a string that represents the code of a function, or the content of a value."""
        if isinstance(value, partial):
            given = {
                name: self.meaning(one) for name, one in sorted(value.keywords.items())
            }
            bound = list(map(self.meaning, value.args))
            return f"partial({self.meaning(value.func)}, {bound}, {given})"
        if isinstance(value, types.FunctionType | type) and self._follows(
            value.__module__
        ):
            return self._defined(value)
        if _is_data(value):
            return _written(value)
        named = value if isinstance(value, _NAMED) else type(value)
        package = str(named.__module__).partition(".")[0]  # the module may change
        return f"{package}.{named.__qualname__}"

    def _follows(self, module: str) -> bool:
        return module == self.within or module.startswith(f"{self.within}.")

    def _leads_within(self, module: str) -> bool:
        return self._follows(module) or self.within.startswith(f"{module}.")

    def _defined(self, thing: types.FunctionType | type) -> str:
        """Return the hash of a function or class whose calls are followed."""
        if id(thing) in self._known:
            return self._known[id(thing)]
        if thing in self._open:
            return f"itself, {len(self._open) - self._open.index(thing)} calls above"
        module = sys.modules[thing.__module__]
        self._open.append(thing)
        found = hashed(self._said(_definition(thing), vars(module), module))
        self._open.pop()
        self._known[id(thing)] = found
        return found

    def _said(
        self, node: ast.AST, names: Mapping[str, Any], module: types.ModuleType
    ) -> str:
        """Return the parsed source of some code and the meanings of its names, as text."""
        bound = _bound(node)
        names = {**names, **_imported(node, module)}
        read = [
            path for path in _paths(node) if path[0] in names and path[0] not in bound
        ]
        meanings = [self._named(path, names, module) for path in read]
        bare = _Bare(frozenset(read)).visit(deepcopy(node))
        return f"{dumped(bare)} {meanings}"

    def _named(
        self, path: tuple[str, ...], names: Mapping[str, Any], module: types.ModuleType
    ) -> str:
        """Return the meaning of a dotted name, such as ``common.similarities``."""
        first, *rest = path
        value = names[first]
        home = module
        while (
            rest
            and isinstance(value, types.ModuleType)
            and self._leads_within(value.__name__)
        ):
            home = value
            first = rest.pop(0)
            value = getattr(value, first, None)
        if isinstance(value, types.ModuleType):
            return ".".join((value.__name__, *rest))
        defined = isinstance(value, types.FunctionType | type)
        if not defined and not _is_data(value) and self._follows(home.__name__):
            return f"{self._assigned(home, first)}{rest}"
        return f"{self.meaning(value)}{rest}"

    def _assigned(self, module: types.ModuleType, name: str) -> str:
        """Return the meaning of a module's value that is neither code nor plain data."""
        key = (module.__name__, name)
        if key in self._open:
            return "itself"
        source = _source_of(module, name)
        if source is not None:
            return self._assigned(*source)
        self._open.append(key)
        said = [
            self._said(node, vars(module), module)
            for node in _assignments(module, name)
        ]
        self._open.pop()
        return f"{said or name}"


class _Bare(ast.NodeTransformer):
    """Transformer that removes annotations, and names whose meanings are hashed separately."""

    def __init__(self, read: frozenset[tuple[str, ...]]) -> None:
        self.read = read

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant("meaning") if _path(node) in self.read else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return (
            ast.Constant("meaning")
            if _path(node) in self.read
            else self.generic_visit(node)
        )

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        node.name = "function"
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return None
        assigned = ast.Assign(
            targets=[node.target], value=node.value, lineno=node.lineno
        )
        return self.generic_visit(assigned)


def _definition(thing: types.FunctionType | type) -> ast.AST:
    """Return the parsed source of a function or class."""
    source = textwrap.dedent(inspect.getsource(thing))
    try:
        return ast.parse(source).body[0]
    except SyntaxError:  # a lambda within a call: its lines are used as they are
        return ast.Module(body=[ast.Expr(ast.Constant(source))], type_ignores=[])


def _bound(node: ast.AST) -> set[str]:
    """Return the local names to which the code of a function or class assigns values."""
    if not isinstance(node, _Function | ast.ClassDef):
        return set()
    inner = [*ast.walk(node)]
    names = {one.id for one in inner if isinstance(one, ast.Name) and not _is_read(one)}
    arguments = {one.arg for one in inner if isinstance(one, ast.arg)}
    defined = {one.name for one in inner if isinstance(one, _Function | ast.ClassDef)}
    return names | arguments | (defined - {node.name})


def _is_read(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def _imported(node: ast.AST, module: types.ModuleType) -> dict[str, Any]:
    """Return the values of names that a piece of code imports."""
    found: dict[str, Any] = {}
    for one in ast.walk(node):
        if isinstance(one, ast.ImportFrom):
            source = _imported_module(one, module)
            for alias in one.names:
                found[alias.asname or alias.name] = getattr(source, alias.name, None)
    return found


def _paths(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """Return the dotted names that a piece of code reads, such as ``("pl", "col")``."""
    for one in ast.iter_child_nodes(node):
        if path := _path(one):
            yield path
        else:
            yield from _paths(one)


def _path(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Name) and _is_read(node):
        return (node.id,)
    if isinstance(node, ast.Attribute) and (before := _path(node.value)):
        return (*before, node.attr)
    return ()


def _source_of(
    module: types.ModuleType, name: str
) -> tuple[types.ModuleType, str] | None:
    """Return the module from which a module imports a name, and its name there."""
    for node in _tree(module).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _imported_module(node, module), alias.name
    return None


def _imported_module(
    node: ast.ImportFrom, module: types.ModuleType
) -> types.ModuleType:
    return import_module("." * node.level + (node.module or ""), module.__package__)


def _assignments(module: types.ModuleType, name: str) -> list[ast.AST]:
    """Return the statements in a module that assign to a name."""
    return [node for node in _tree(module).body if name in _targets(node)]


@lru_cache(maxsize=64)
def _tree(module: types.ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _targets(node: ast.stmt) -> set[str]:
    """Return the names to which a statement assigns, including ``a`` in ``a["b"] = 1``."""
    stored = [
        one for one in ast.walk(node) if isinstance(one, ast.Name) and not _is_read(one)
    ]
    changed = [
        one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load)
    ]
    return {one.id for one in (*stored, *changed) if isinstance(one, ast.Name)}


def _is_data(value: Any) -> bool:
    """Return whether a value is plain data, which can be written as text."""
    if isinstance(value, dict):
        return all(map(_is_data, value)) and all(map(_is_data, value.values()))
    if isinstance(value, tuple | list | set | frozenset):
        return all(map(_is_data, value))
    return value is None or isinstance(value, str | bytes | int | float)


def _written(value: Any) -> str:
    """Return plain data as text, with sets in a fixed order."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{key!r}: {_written(one)}" for key, one in value.items())
            + "}"
        )
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(repr, value))) + "}"
    return repr(value)

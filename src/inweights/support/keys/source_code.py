"""Hash the parsed source of a user's modules, so that every change of the code is detected.

:func:`module_sources` is the main function. Comments, docstrings and formatting do not
affect the hashes.
"""

import ast
import hashlib
import inspect
import sys
import types
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from inweights.errors import ConfigError
from inweights.support.keys.content import fingerprint

_LENGTH = 16
#: Names of folders of installed packages, in which a package is identified as a whole,
#: without its neighbours.
_INSTALLED = ("site-packages", "dist-packages")


def file_of(module: str) -> Path | None:
    """Return the source file of an imported module; ``None`` if it has none, as in a notebook.

    The result is also ``None`` for ``__main__`` and for a module that is not imported.

    Args:
        module: Dotted name of the module.

    Raises:
        ConfigError: The module is a user's own, and its file was edited after it was
            imported.
        DataError: The file of a user-defined module cannot be read.
    """
    loaded = sys.modules.get(module)
    name = getattr(loaded, "__file__", None)
    if module == "__main__" or loaded is None or not name or not name.endswith(".py"):
        return None
    file = Path(name)
    if not file.is_file():
        return None
    # Another loader, such as that of a test runner, may change the code that it loads.
    if (
        is_own(module, file)
        and type(getattr(loaded, "__loader__", None)) is SourceFileLoader
    ):
        _check_loaded(loaded, file)
    return file


def is_own(module: str, file: Path) -> bool:
    """Return whether a module is the user's own code.

    All modules are the user's own except those of Python's standard library, of this
    library and of installed packages. A module counts as installed if its file is in
    ``site-packages`` or ``dist-packages``.

    Args:
        module: Dotted name of the module.
        file: Its source file.
    """
    top = module.partition(".")[0]
    known = top == "inweights" or top in sys.stdlib_module_names
    return not known and not {*file.parts} & {*_INSTALLED}


def module_sources(file: Path, module: str) -> dict[str, str]:
    r"""Return the hashes of a module and of all modules that it imports from its own folder.

    Imports of the imported modules are also included. For a package in
    ``site-packages``, only modules of this package are included.

    Args:
        file: Source file of the module.
        module: Dotted name of the module. With ``file``, it determines the folder from
            which the module is imported.

    Returns:
        Hashes of 16 hexadecimal digits by path, beginning with the module itself. Paths
        are relative to the folder from which the module is imported.

    Raises:
        ConfigError: A file is not valid Python.
        DataError: A file cannot be read.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "mine.py").write_text("from helper import scale\n")
        >>> _ = (folder / "helper.py").write_text("scale = 3  # times\\n")
        >>> list(module_sources(folder / "mine.py", "mine"))
        ['mine.py', 'helper.py']
    """
    depth = module.count(".") + (file.name == "__init__.py")
    root = file.parents[depth]
    # Other installed packages in the same folder do not belong to the module.
    own = file.parents[depth - 1] if root.name in _INSTALLED and depth else root
    found: dict[str, str] = {}
    left = [file]
    while left:
        path = left.pop()
        name = path.relative_to(root).as_posix()
        if name in found:
            continue
        found[name], imports = _parsed(str(path), fingerprint(path))
        if root.name in _INSTALLED and not depth:
            continue
        for level, parts in imports:
            base = path.parents[level - 1] if level else root
            left += [other for other in _files(base, parts) if own in other.parents]
    return found


@lru_cache(maxsize=4096)
def _parsed(
    path: str, content: str
) -> tuple[str, tuple[tuple[int, tuple[str, ...]], ...]]:
    """Return the hash of a file's parsed source, and the level and name parts of its imports."""
    del content  # it is an argument only so that a changed file is parsed again
    try:
        tree = ast.parse(Path(path).read_bytes(), path)
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"{path} is not valid Python: {error}") from None
    imports: list[tuple[int, tuple[str, ...]]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [(0, tuple(alias.name.split("."))) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            home = tuple(node.module.split(".")) if node.module else ()
            imports += [(node.level, (*home, alias.name)) for alias in node.names]
    kept = [one for one in dict.fromkeys(imports) if one[0] or one[1][0] != "inweights"]
    return hashed(dumped(tree)), tuple(kept)


def _files(base: Path, parts: Sequence[str]) -> Iterator[Path]:
    """Yield the files of a dotted name: its parent packages' files, then the module's file."""
    place = base
    for part in parts:
        place = place / part
        for file in (place / "__init__.py", place.with_suffix(".py")):
            if file.is_file():
                yield file


def dumped(node: Any) -> str:
    """Return parsed source code as text that is the same in every version of Python.

    Docstrings, positions and empty fields are left out.

    Args:
        node: A node of :mod:`ast`, a list of nodes, or the value of a node's field.
    """
    if isinstance(node, list):
        return f"[{','.join(map(dumped, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    blocks = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if isinstance(node, blocks) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = fields["body"][1:]
    # Empty fields are left out, since later versions of Python have additional fields.
    kept = [
        f"{name}={dumped(one)}" for name, one in fields.items() if one not in (None, [])
    ]
    return f"{type(node).__name__}({','.join(kept)})"


def _check_loaded(module: types.ModuleType, file: Path) -> None:
    """Raise an error for a module whose file was edited after it was imported."""
    content = fingerprint(file)
    if _checked.get(module.__name__) == content:
        return
    source = file.read_bytes()
    try:
        tree = ast.parse(source)
    # it was valid when it was imported, so it was edited
    except (SyntaxError, ValueError):
        raise _edited(file) from None
    held = vars(module)
    said = _codes(compile(source, str(file), "exec", dont_inherit=True))
    for function in _functions(module):
        code = said.get(function.__code__.co_qualname)
        own = function.__code__.co_filename == str(file)
        if own and (
            code is None or repr(bytecode(code)) != repr(bytecode(function.__code__))
        ):
            raise _edited(file)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    stored = [name.id for name in names if not isinstance(name.ctx, ast.Load)]
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            for target in node.targets:
                once = isinstance(target, ast.Name) and stored.count(target.id) == 1
                if once and held.get(target.id, ...) != node.value.value:  # type: ignore[attr-defined]
                    raise _edited(file)
    _checked[module.__name__] = content


#: For each module, the hash of its file when they were last found to agree.
_checked: dict[str, str] = {}


def _functions(module: types.ModuleType) -> Iterator[types.FunctionType]:
    """Yield the functions of a module and the methods of its classes, without decorators."""
    own = [
        one
        for one in vars(module).values()
        if getattr(one, "__module__", "") == module.__name__
    ]
    methods: list[Any] = []
    for kind in own:
        if isinstance(kind, type):
            methods += vars(kind).values()
    for one in (*own, *methods):
        function = inspect.unwrap(one) if callable(one) else one
        if isinstance(function, types.FunctionType):
            yield function


def _edited(file: Path) -> ConfigError:
    return ConfigError(
        f"{file.name} was edited after it was imported; start Python again, or reload the module"
    )


def _codes(code: types.CodeType) -> dict[str, types.CodeType]:
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    found = {one.co_qualname: one for one in inner}
    for one in inner:
        found |= _codes(one)
    return found


def bytecode(code: types.CodeType) -> list[Any]:
    """Return the operations, names and constants of compiled code, without positions.

    Args:
        code: The compiled code.

    Returns:
        A list of three items: the operations as hexadecimal digits, the list of names,
        and the list of constants. A constant is represented by its ``repr``, and nested
        code by a list of the same form.
    """
    constants = [
        bytecode(c) if isinstance(c, types.CodeType) else _constant(c)
        for c in code.co_consts
    ]
    return [code.co_code.hex(), list(code.co_names), constants]


def _constant(value: Any) -> Any:
    # The order of a set of names differs between processes.
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)


def hashed(text: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 hash of a string.

    Args:
        text: The string, which is encoded as UTF-8.
    """
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]

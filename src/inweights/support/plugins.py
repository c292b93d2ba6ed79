"""Import users' modules that add worlds, models, probes, drawings or recipes.

A plugin is an importable module, a file or package in the current folder, or a path.
Its code is run only if the user names it in the call or has installed it as an entry
point. It is never run because a file, such as the config of a finished run, names it.
"""

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from inweights.errors import ConfigError, nearest


def load_plugins(modules: Sequence[str] = ()) -> None:
    """Import the named plugins, and all plugins that are installed as entry points.

    The group of these entry points is ``inweights.plugins``. If an installed plugin
    fails, a ``UserWarning`` names it and no error is raised.

    Args:
        modules: Names of modules (``my_lab``), or paths of files and packages
            (``./my_lab.py``, ``labs/rings``). A name may also refer to a file or
            package in the current folder.

    Raises:
        ConfigError: A name is empty, a module does not exist or its code fails, or a
            different module with its name is already imported.
    """
    for entry in entry_points(group="inweights.plugins"):
        with _tried(f"the installed plugin '{entry.name}' ({entry.value})", warn=True):
            entry.load()
    for module in modules:
        if not module.strip():
            raise ConfigError(
                "a plugin must be a module or a file, such as my_lab or ./my_lab.py, got no name"
            )
        with _tried(f"the plugin '{module}'"):
            _load(module)


def module_of(plugin: str) -> str:
    """Return the module name under which a plugin is imported.

    Args:
        plugin: Name of a module, or path of a file or package, which need not exist.

    Example:
        >>> module_of("./labs/my_lab.py"), module_of("my_lab"), module_of("labs.rings")
        ('my_lab', 'my_lab', 'labs.rings')
    """
    return Path(plugin).name.removesuffix(".py") if _is_path(plugin) else plugin


def _load(plugin: str) -> ModuleType:
    file = _file_of(plugin)
    name = module_of(plugin)
    if file is None:
        return importlib.import_module(name)
    known = sys.modules.get(name)
    if known is not None:
        if Path(getattr(known, "__file__", None) or "/").resolve() == file.resolve():
            return known
        raise ConfigError(
            f"another module with the name '{name}' is already imported; rename the file"
        )
    places = [str(file.parent)] if file.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(
        name, file, submodule_search_locations=places
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        beside = file.parent / f"{missing}.py"
        if missing and beside.is_file():
            named = beside if _is_path(plugin) else missing
            raise ConfigError(
                f"the plugin imports {beside.name}, a file in the same folder, which must be "
                f"named as a plugin as well: --plugin {named} --plugin {plugin}"
            ) from error
        raise
    return module


def _file_of(plugin: str) -> Path | None:
    """Return the file of a plugin, by path or in the current folder, or ``None``."""
    if not _is_path(plugin) and (plugin in sys.modules or _is_importable(plugin)):
        return None
    home = Path(plugin) if _is_path(plugin) else Path(*plugin.split("."))
    for file in (home, home / "__init__.py", home.with_name(f"{home.name}.py")):
        if file.is_file():
            return file
    if _is_path(plugin):
        close = nearest(home.name, (p.name for p in home.parent.glob("*.py")))
        hint = f"; did you mean {home.with_name(close)}?" if close else ""
        raise ConfigError(f"there is no file {plugin}{hint}")
    return None


def _is_path(plugin: str) -> bool:
    return "/" in plugin or "\\" in plugin or plugin.endswith(".py")


def _is_importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


@contextmanager
def _tried(what: str, *, warn: bool = False) -> Iterator[None]:
    try:
        yield
    except (Exception, SystemExit) as error:
        why = (
            str(error)
            if isinstance(error, ConfigError)
            else f"{type(error).__name__}: {error}"
        )
        text = f"cannot import {what}: {' '.join(why.split())}"
        if not warn:
            raise ConfigError(text) from error
        warnings.warn(text, stacklevel=3)

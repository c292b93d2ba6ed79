"""Write template files: examples, and files for a user-defined world, probe, recipe or study.

:func:`examples` writes sample data and a study, and :func:`new` writes a working file
with its test.
"""

import keyword
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

from inweights.errors import ConfigError, WriteError, check_names
from inweights.support.publish import publish_file

#: What :func:`new` writes.
KINDS = ("recipe", "world", "probe", "study")
_PLACE = files("inweights.actions") / "examples"


def examples(folder: str | Path = "examples") -> list[Path]:
    """Write the sample files ``facts.csv``, ``edges.csv`` and ``study.toml``.

    Args:
        folder: Folder in which the files are written; by default ``examples``.

    Returns:
        Paths of the three files, in alphabetical order.

    Raises:
        ConfigError: One of the files already exists. No file is then written.
        WriteError: The folder cannot be written.
    """
    texts = {
        one.name: one.read_text("utf-8") for one in _PLACE.iterdir() if one.is_file()
    }
    return _write(Path(folder), texts)


def new(kind: str, name: str, folder: str | Path = ".") -> list[Path]:
    """Write a runnable recipe, world, probe or study with a test, for the user to adapt.

    Args:
        kind: What the file defines: ``recipe``, ``world``, ``probe`` or ``study``.
        name: Name of the new object: a lower-case letter, followed by up to 60
            lower-case letters, digits and hyphens. It must not be a Python keyword. In
            the names of the files, hyphens are replaced by underscores, except for a
            study (``<name>.toml``).
        folder: Folder in which the files are written; by default the current one.

    Returns:
        Paths of the file and of its test, in alphabetical order; a study has no test.

    Raises:
        ConfigError: The kind is unknown, the name is invalid, or one of the files
            already exists. No file is then written.
        WriteError: The folder cannot be written.

    Example:
        >>> import tempfile
        >>> [path.name for path in new("world", "my-town", tempfile.mkdtemp())]
        ['my_town.py', 'test_my_town.py']
    """
    check_names("kind", [kind], KINDS)
    module = name.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,60}", name) or keyword.iskeyword(module):
        raise ConfigError(
            f"'{name}' cannot be the name of a {kind}: it must begin with a lower-case "
            "letter and contain only lower-case letters, digits and hyphens, as in my-town"
        )
    if kind == "study":
        return _write(
            Path(folder), {f"{name}.toml": (_PLACE / "study.toml").read_text("utf-8")}
        )
    title = "".join(word.capitalize() for word in name.split("-"))
    about = {"name": name, "module": module, "function": module, "title": title}
    parts = {
        f"{module}.py": f"{kind}.py.txt",
        f"test_{module}.py": f"test_{kind}.py.txt",
    }
    return _write(
        Path(folder),
        {
            file: Template((_PLACE / "new" / part).read_text("utf-8")).substitute(about)
            for file, part in parts.items()
        },
    )


def _write(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write files that do not exist yet: all of them, or none."""
    paths = {folder / name: text for name, text in sorted(texts.items())}
    try:
        for path in paths:
            if path.exists() or path.is_symlink():
                raise ConfigError(
                    f"{path} already exists; choose another name, or move the existing one"
                )
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in paths.items():
            publish_file(path, text.encode())
    except OSError as error:
        raise WriteError(
            f"cannot write to {folder}: {error.strerror or error}"
        ) from error
    return list(paths)

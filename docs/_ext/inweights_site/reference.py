"""Write the reference of the larger packages: a list, and a page for each public name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from inweights_site.text import table, words

__all__ = ["pages"]

#: Packages whose reference would be one very long page, and the names that are
#: documented on other pages.
_PACKAGES: Mapping[str, tuple[str, ...]] = {
    "experiments": (
        "Curriculum",
        "Descent",
        "ModelConfig",
        "Optimum",
        "Study",
        "WorldConfig",
        "grid",
    ),
    "lm": (),
    "models": (),
    "probes": (),
    "theory": (),
    "training": ("learners",),
    "worlds": (),
}
_TITLES = {
    "experiments": "Trials, measures, claims, figures",
    "lm": "Pretrained language models",
    "theory": "Theory: programs and predictions",
}


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and the Markdown of each page."""
    for package, left_out in _PACKAGES.items():
        module = importlib.import_module(f"inweights.{package}")
        names = [name for name in module.__all__ if name not in left_out]
        found = {name: getattr(module, name) for name in names}
        yield f"api/{package}.md", _list(package, module.__doc__ or "", found)
        for name, value in found.items():
            yield f"api/{package}/{name}.md", _page(package, name, value)


def _list(package: str, about: str, found: Mapping[str, Any]) -> str:
    rows = [
        [f"{{doc}}`{name} <{package}/{name}>`", _first(found[name])] for name in found
    ]
    lines = [
        f"# {_TITLES.get(package, package.capitalize())}",
        "",
        words(inspect.cleandoc(about).split("\n\n")[0].replace("\n", " ")),
        "",
        *table(["name", "what it is"], rows),
        "",
        "```{toctree}",
        ":hidden:",
        "",
        *(f"{package}/{name}" for name in found),
        "```",
    ]
    return "\n".join(lines) + "\n"


def _page(package: str, name: str, value: Any) -> str:
    place = f"inweights.{package}.{name}"
    if not (inspect.isclass(value) or inspect.ismodule(value) or callable(value)):
        shown = words(repr(value))[:200]
        return f"# {name}\n\n```{{eval-rst}}\n.. py:data:: {place}\n```\n\n{shown}\n"
    if inspect.isclass(value):
        kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
    elif inspect.ismodule(value):
        kind = "automodule"
    else:
        kind = "autofunction"
    return f"# {name}\n\n```{{eval-rst}}\n.. {kind}:: {place}\n```\n"


def _first(value: Any) -> str:
    """Return the first sentence of a docstring, for objects that have their own docstring."""
    if not (
        inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)
    ):
        return ""
    text = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    return words(text.replace("``", "`")).replace("|", "¦")

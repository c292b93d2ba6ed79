"""Figures and the page of a finished run: tidy tables in, pictures and one HTML file out.

Nothing here computes a result, and nothing here imports torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["PageContent", "build_page", "draw", "drawing", "interactive", "plot", "write_figures"]

_HOME = {
    "PageContent": "pages.content",
    "build_page": "pages.page",
    "draw": "figures.draw",
    "drawing": "base.registry",
    "interactive": "pages.movable",
    "plot": "figures.draw",
    "write_figures": "pages.page",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

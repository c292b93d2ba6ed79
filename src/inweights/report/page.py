"""The page of a run: one HTML file that opens offline, verdict first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from inweights.report import sections
from inweights.report.claims import claims_section, headline
from inweights.report.content import PageContent
from inweights.report.figures import draw
from inweights.report.html import escape, tag
from inweights.report.save import png, svg

if TYPE_CHECKING:
    from inweights.lab.figure import Figure

__all__ = ["PageContent", "build_page", "write_figures"]

#: The page may load nothing: what it shows, it holds.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)


def build_page(content: PageContent) -> str:
    """Return the page as HTML; the same content gives the same bytes.

    Raises:
        ConfigError: A figure names an unknown drawing or option.
        DataError: A figure names a table or column that is not there.
    """
    figures, moving = sections.figures_section(content.figures, content.tables)
    body = tag(
        "main",
        sections.header(content),
        claims_section(content.claims),
        figures,
        sections.numbers_section(content.tables),
        sections.settings_section(content.config, content.ours),
        sections.again_section(content.command, content.folder, content.environment),
    )
    scripts = [_asset("page.js")]
    if moving:
        scripts = [_plotly(), _asset("player.js"), *scripts]
    name = escape(f"{headline(content.claims)} – {content.title}")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content="inweights"),
        tag("title", name),
        tag("style", _asset("page.css")),
    )
    code = "".join(tag("script", script) for script in scripts)
    return f'<!doctype html>\n<html lang="en">{head}<body>{body}{code}</body></html>\n'


def write_figures(
    figures: Sequence[Figure], tables: Mapping[str, pl.DataFrame], folder: Path
) -> list[Path]:
    """Write every figure as ``<id>.png`` (twice the size) and ``<id>.svg``; return the paths.

    Raises:
        ConfigError: A figure names an unknown drawing or option.
        DataError: A figure names a table or column that is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in figures:
        picture = draw(figure, tables)
        for suffix, data in (("png", png(picture)), ("svg", svg(picture, figure.id).encode())):
            path = folder / f"{figure.id}.{suffix}"
            path.write_bytes(data)
            written.append(path)
    return written


def _asset(name: str) -> str:
    return resources.files("inweights.report").joinpath("assets", name).read_text(encoding="utf-8")


def _plotly() -> str:
    """The code of plotly; its package is imported only for a page that moves."""
    from plotly.offline import get_plotlyjs

    code: str = get_plotlyjs()
    return code.replace("</script", "<\\/script")

"""Write the parts of the site that are generated from the library.

These parts are a page for each recipe, the gallery, the reference of the commands, a
JSON file and a badge with a stable address for each claim, and the board as JSON, CSV
and a feed. They are not part of the repository: each build generates them from the
recipes and from the stored board in ``results/``.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inweights.report.living.explore import EXPLORATIONS, explore_page
from inweights_site import (
    board,
    board_page,
    claims,
    commands,
    downloads,
    gallery,
    letters,
    notebooks,
    recipe_page,
    reference,
    rejudged,
    undecided,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sphinx.application import Sphinx

__all__ = ["setup"]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, and the functions that run before and after a build."""
    app.add_directive("citations", gallery.Citations)
    app.add_directive("folders", gallery.Folders)
    app.add_directive("gallery", gallery.Gallery)
    app.add_directive("recipe-map", gallery.RecipeMap)
    app.add_directive("paper-text", gallery.PaperText)
    app.add_directive("paper-verdicts", letters.PaperVerdicts)
    app.add_directive("claim-changes", rejudged.ClaimChanges)
    app.add_directive("protocol-counts", rejudged.ProtocolCounts)
    app.add_directive("undecided-claims", undecided.UndecidedClaims)
    # Names of the pages that have a sidebar; if it is empty, all pages have one.
    app.add_config_value("pages_with_sidebar", [], "html", types=[list])
    app.connect("builder-inited", _before)
    app.connect("env-get-outdated", _written_here)
    app.connect("source-read", _read)
    app.connect("html-page-context", _short_sidebar, priority=400)
    app.connect("build-finished", _after)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _before(app: Sphinx) -> None:
    """Write the pages that Sphinx reads next; unchanged pages are not written again."""
    source = Path(app.srcdir)
    pages = dict(commands.pages())
    for entry in board.entries():
        pages[f"recipes/{entry.recipe.name}.md"] = recipe_page.page(entry)
        pages[f"recipes/{entry.recipe.name}.svg"] = recipe_page.strip(entry)
        pages[f"recipes/{entry.folder}.md"] = gallery.folder_page(entry.folder)
    pages.update(reference.pages())
    for name, text in pages.items():
        _write(source / name, text)
    made = [*(source / "recipes").rglob("*.*"), *(source / "api").glob("*/*.md")]
    made += (source / "commands").glob("*.md")
    for old in made:
        if str(old.relative_to(source)) not in pages:
            old.unlink()
    notebooks.write(source / "notebooks", source / "_static" / "notebooks")
    notebooks.write_course(source / "course", source / "_static" / "course")
    for which in EXPLORATIONS:
        _write(source / "_static" / "explore" / f"{which}.html", explore_page(which))


def _written_here(app: Sphinx, *_: Any) -> list[str]:
    """Return pages that depend on recipes and the board, so that they are always read again."""
    replies = Path(app.srcdir) / "replies"
    return [
        "board",
        "citing",
        "gallery",
        "papers",
        "rejudged",
        "verdicts",
        *(f"replies/{page.stem}" for page in replies.glob("*.md")),
        *(f"recipes/{name}" for name in board.PAPERS),
    ]


def _short_sidebar(
    app: Sphinx,
    name: str,
    template: str,  # noqa: ARG001
    context: dict[str, Any],
    tree: Any,  # noqa: ARG001
) -> None:
    """Expand only the part of the sidebar to which a page belongs.

    If every part were expanded, each page would link to hundreds of others, which takes
    half of the time of a build.
    """
    pages = app.config.pages_with_sidebar
    context["toctree"] = partial(
        _collapsed if name in pages or not pages else _no, context["toctree"]
    )


def _collapsed(resolve: Callable[..., str], **how: Any) -> str:
    return resolve(**how | {"collapse": True})


def _no(resolve: Callable[..., str], **how: Any) -> str:  # noqa: ARG001
    """Return no sidebar, which saves a fifth of the time of a build."""
    return ""


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace the board by its shorter page, and complete the text of notebooks and exercises."""
    if name == "board":
        source[0] = board_page.page()
    folder, _, short = name.partition("/")
    if folder == "course":
        source[0] = notebooks.without_marks(source[0])
    if folder == "notebooks" and (links := notebooks.badges(short, _repository(app))):
        source[0] = re.sub(
            r"^(# .*)$", rf"\1\n\n{links}", source[0], count=1, flags=re.MULTILINE
        )


def _after(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        claims.write(Path(app.outdir) / "claims")
        titles = {name: title.astext() for name, title in app.env.titles.items()}
        first = (Path(app.srcdir) / "index.md").read_text("utf-8")
        downloads.write(Path(app.outdir), first, titles)
        cache = Path(app.config.nb_execution_cache_path)
        notebooks.fill(cache, Path(app.outdir), _repository(app))


def _repository(app: Sphinx) -> str:
    return notebooks.address(Path(app.srcdir).parent / "pyproject.toml")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text("utf-8") != text:
        file.write_text(text, "utf-8")

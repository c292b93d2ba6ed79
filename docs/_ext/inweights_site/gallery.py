"""Directives for the gallery of all recipes, and for the map from a paper to its recipes."""

from __future__ import annotations

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from inweights.recipes.catalogue.citations import citations
from inweights.recipes.papers import protocol
from inweights.support.progress import plural
from inweights_site.board import PAPERS, Entry, entries_of, link, picture, tally
from inweights_site.recipe_page import bibtex, took
from inweights_site.text import table, words

__all__ = ["Citations", "Gallery", "PaperText", "RecipeMap"]


class Gallery(SphinxDirective):
    """``{gallery} identity-bridge``: a card with a picture and verdicts for each recipe."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        chosen = entries_of(self.arguments[0])
        lines = [":::::{grid} 1 2 3 3", ":gutter: 3", ""]
        for entry in chosen:
            lines += _card(entry)
        pages = (f"/recipes/{entry.recipe.name}" for entry in chosen)
        lines += [":::::", "", ":::{toctree}", ":hidden:", "", *pages, ":::", ""]
        return self.parse_text_to_nodes("\n".join(lines))


class Folders(SphinxDirective):
    """``{folders}``: a card for each paper with the picture of one recipe."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        lines, pages = [":::::{grid} 1 2 3 3", ":gutter: 3", ""], list[str]()
        for folder, title in PAPERS.items():
            if chosen := entries_of(folder):
                first = next((entry for entry in chosen if picture(entry)), chosen[0])
                claims = tuple(claim for entry in chosen for claim in entry.claims)
                said = f"{plural(len(chosen), 'recipe')} · {tally(claims)}"
                lines += _card(first, title, f"/recipes/{folder}", "", said)
                pages.append(f"/recipes/{folder}")
        lines += [":::::", "", ":::{toctree}", ":hidden:", "", *pages, ":::", ""]
        return self.parse_text_to_nodes("\n".join(lines))


def folder_page(folder: str) -> str:
    """Return the page that lists the recipes of a folder, as Markdown."""
    return f"# {PAPERS[folder]}: all recipes\n\n```{{gallery}} {folder}\n```\n"


def _card(
    entry: Entry,
    title: str = "",
    page: str = "",
    place: str | None = None,
    said: str = "",
) -> list[str]:
    name = entry.recipe.name
    title = words(title or entry.recipe.title)
    place = words(entry.recipe.place.partition(";")[0]) if place is None else place
    said = said or f"`{name}` · {tally(entry.claims)} · {took(name)}"
    # Pictures for phones have few panels in a row, so their text is legible on a card.
    small = picture(entry, "-phone")
    shown = small or picture(entry)
    return [
        f"::::{{grid-item-card}} {title}",
        f":link: {page or f'/recipes/{name}'}",
        ":link-type: doc",
        f":img-top: {shown or f'/recipes/{name}.svg'}",
        f":img-alt: {words(entry.recipe.title)}",
        f":class-img-top: {_look(small, shown)}",
        "",
        place,
        ":::{card-footer}",
        said,
        ":::",
        "::::",
        "",
    ]


def _look(small: str | None, shown: str | None) -> str:
    if shown is None:
        return "verdicts whole"
    return "on-white" if small else "on-white whole"


class Citations(SphinxDirective):
    """``{citations}``: BibTeX entries of the project and the papers, as in ``inweights cite``."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(bibtex(citations())))


class RecipeMap(SphinxDirective):
    """``{recipe-map} identity-bridge``: a row for each recipe, with its place in the paper."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        chosen = entries_of(self.arguments[0])
        if not chosen:
            raise self.error(
                f"no recipe is of '{self.arguments[0]}'; known: {', '.join(PAPERS)}"
            )
        rows = [
            [
                words(entry.recipe.place),
                link(entry),
                words(entry.recipe.title),
                tally(entry.claims),
            ]
            for entry in chosen
        ]
        head = ["in the paper", "recipe", "what it shows", "verdicts"]
        return self.parse_text_to_nodes("\n".join(table(head, rows)))


class PaperText(SphinxDirective):
    """``{paper-text} identity-bridge``: the judged version of a paper, and its other versions."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        stated = protocol(self.arguments[0])
        if stated is None:
            raise self.error(f"the paper of '{self.arguments[0]}' has no protocol file")
        paper = stated.paper
        lines = [
            f"Text: {words(paper.version)}, {words(paper.date)}; read {paper.read_on}. Published: "
            f"{words(paper.venue)}. Code: {words(paper.code)}.",
            "",
            *(f"- {words(change)}" for change in paper.changes),
        ]
        return self.parse_text_to_nodes("\n".join(lines))

"""Write each page that is a notebook as a file for Jupyter."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

__all__ = [
    "address",
    "badges",
    "fill",
    "plain",
    "without_marks",
    "without_solutions",
    "write",
    "write_course",
]

#: Branch on which the site is published, with its executed notebooks.
_BRANCH, _FOLDER = "gh-pages", "_static/notebooks"

_MARKS = re.compile(r"^### (?:BEGIN|END) SOLUTION\n", re.MULTILINE)
_SOLUTION = re.compile(
    r"^### BEGIN SOLUTION\n.*?^### END SOLUTION\n", re.MULTILINE | re.DOTALL
)
#: Patterns of roles of Sphinx: with a title, for code, for a page, and others.
_TITLED = re.compile(r"\{\w+\}`([^`<]+?)\s*<[^`>]+>`")
_CODE = re.compile(r"\{(?:func|class|meth|mod|data|attr)\}`([^`]+)`")
_PAGE = re.compile(r"\{doc\}`([^`]+)`")
_ROLE = re.compile(r"\{\w+\}`([^`]+)`")


def address(pyproject: Path) -> str:
    """Return ``owner/name`` of the project on GitHub, or nothing if it has no public address."""
    urls = tomllib.loads(pyproject.read_text("utf-8"))["project"].get("urls", {})
    found = re.fullmatch(
        r"https://github\.com/([\w.-]+/[\w.-]+?)(\.git)?/?", urls.get("Repository", "")
    )
    return found[1] if found else ""


def badges(name: str, repository: str) -> str:
    """Return links that open the executed notebook ``name`` in Colab and Binder, as Markdown."""
    if not repository:
        return ""
    colab = f"https://colab.research.google.com/github/{repository}/blob/{_BRANCH}"
    binder = f"https://mybinder.org/v2/gh/{repository}/{_BRANCH}?urlpath=lab/tree"
    links = {"Open in Colab": colab, "Open on Binder": binder}
    # Links instead of pictures, so that a page loads nothing from other hosts.
    return " ".join(
        f"[{text}]({to}/{_FOLDER}/{name}.ipynb){{.badge}}" for text, to in links.items()
    )


def write(pages: Path, folder: Path) -> None:
    """Write every page of a folder as ``.ipynb`` without outputs, which :func:`fill` adds."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted(pages.glob("*.md")):
        _write_one(page.read_text("utf-8"), folder / f"{page.stem}.ipynb")


def write_course(pages: Path, folder: Path) -> None:
    """Write every exercise of a folder as two notebooks, without and with the solutions."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted(pages.glob("*.md")):
        text = page.read_text("utf-8")
        _write_one(without_solutions(text), folder / f"{page.stem}.ipynb")
        _write_one(without_marks(text), folder / f"{page.stem}-solutions.ipynb")


def without_solutions(text: str) -> str:
    """Return an exercise for students, without the text between the marks."""
    return _SOLUTION.sub("", text)


def without_marks(text: str) -> str:
    """Return an exercise with its solutions, but without the marks around them."""
    return _MARKS.sub("", text)


def plain(text: str) -> str:
    """Return Markdown without the roles of Sphinx, which Jupyter does not support.

    Example:
        >>> plain("A {term}`prompt <Prompt>`, {func}`~inweights.steer`, {doc}`../sweep`.")
        'A prompt, `steer`, *sweep*.'
    """
    text = _TITLED.sub(r"\1", text)
    text = _CODE.sub(lambda role: f"`{role[1].rpartition('.')[2].lstrip('~')}`", text)
    text = _PAGE.sub(lambda role: f"*{role[1].rpartition('/')[2]}*", text)
    return _ROLE.sub(r"\1", text)


def _write_one(text: str, file: Path) -> None:
    """Write a page as a notebook without outputs."""
    import jupytext
    import nbformat

    notebook = jupytext.reads(text, fmt="md:myst")
    for cell in notebook.cells:
        cell.pop("id", None)
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source)
    # Cells without random ids, so that the same page gives the same file.
    notebook.nbformat_minor = 4
    written = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    file.write_text(written + "\n", "utf-8")


def fill(cache: Path, site: Path, repository: str = "") -> None:
    """Add outputs to the notebooks of a built site, from the execution of its pages.

    If the project has a public address, a first cell installs it, as Colab and Binder
    require. A notebook that this build did not execute, such as in a quick build of the
    tests, is not changed.
    """
    import nbformat
    from jupyter_cache import get_cache  # type: ignore[import-untyped]

    executed = get_cache(cache)
    for file in sorted(site.rglob("*.ipynb")):
        notebook = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
        try:
            _, filled = executed.merge_match_into_notebook(notebook)
        except KeyError:
            continue
        if repository:
            source = f"%pip install --quiet git+https://github.com/{repository}"
            filled.cells.insert(0, nbformat.v4.new_code_cell(source))  # type: ignore[no-untyped-call]
            filled.cells[0].pop("id", None)
        file.write_text(nbformat.writes(filled) + "\n", "utf-8")  # type: ignore[no-untyped-call]

"""Each notebook page as a file that opens in Jupyter."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

__all__ = ["address", "badges", "fill", "write"]

#: The branch on which the site is published, with its executed notebooks.
_BRANCH, _FOLDER = "gh-pages", "_static/notebooks"


def address(pyproject: Path) -> str:
    """Return ``owner/name`` of the project on GitHub; nothing while it has no public address."""
    urls = tomllib.loads(pyproject.read_text("utf-8"))["project"].get("urls", {})
    found = re.fullmatch(
        r"https://github\.com/([\w.-]+/[\w.-]+?)(\.git)?/?", urls.get("Repository", "")
    )
    return found[1] if found else ""


def badges(name: str, repository: str) -> str:
    """Return links that open the executed notebook ``name`` in Colab and on Binder, as Markdown."""
    if not repository:
        return ""
    colab = f"https://colab.research.google.com/github/{repository}/blob/{_BRANCH}"
    binder = f"https://mybinder.org/v2/gh/{repository}/{_BRANCH}?urlpath=lab/tree"
    links = {"Open in Colab": colab, "Open on Binder": binder}
    # Links, not pictures: a page asks no other host for anything.
    return " ".join(
        f"[{text}]({to}/{_FOLDER}/{name}.ipynb){{.badge}}" for text, to in links.items()
    )


def write(pages: Path, folder: Path) -> None:
    """Write every page of a folder as ``.ipynb``, without outputs: :func:`fill` adds them."""
    import jupytext
    import nbformat

    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted(pages.glob("*.md")):
        notebook = jupytext.read(page, fmt="md:myst")
        for cell in notebook.cells:
            cell.pop("id", None)
        notebook.nbformat_minor = (
            4  # cells without names of their own: the same page, the same file
        )
        text = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
        (folder / f"{page.stem}.ipynb").write_text(text + "\n", "utf-8")


def fill(cache: Path, site: Path, repository: str = "") -> None:
    """Give the notebooks of a built site the outputs with which its pages were made.

    Where the project has a public address, a first cell installs it, as Colab and
    Binder need. A notebook that this build did not execute, as for a quick build of the
    tests, stays as it is.
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

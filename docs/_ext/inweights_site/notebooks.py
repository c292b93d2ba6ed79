"""Each notebook page as a file that opens in Jupyter."""

from __future__ import annotations

from pathlib import Path

__all__ = ["fill", "write"]


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


def fill(cache: Path, folder: Path) -> None:
    """Give the notebooks of a built site the outputs with which its pages were made.

    A notebook that this build did not execute, as for a quick build of the tests, stays as it is.
    """
    import nbformat
    from jupyter_cache import get_cache  # type: ignore[import-untyped]

    executed = get_cache(cache)
    for file in sorted(folder.glob("*.ipynb")):
        notebook = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
        try:
            _, filled = executed.merge_match_into_notebook(notebook)
        except KeyError:
            continue
        file.write_text(nbformat.writes(filled) + "\n", "utf-8")  # type: ignore[no-untyped-call]

"""Each notebook page as a file that opens in Jupyter."""

from __future__ import annotations

from pathlib import Path

__all__ = ["write"]


def write(pages: Path, folder: Path) -> None:
    """Write every page of a folder as ``.ipynb``, without outputs."""
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

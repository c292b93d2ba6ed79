"""Write the reports in ``docs/report`` as PDF and HTML, with the numbers in ``results/``.

Usage: ``python docs/_ext/report.py [FOLDER OF RESULTS] [FOLDER TO WRITE]``, which
``make report`` runs. The default folder is ``docs/_build/report``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from inweights_report import (
    REPORTS,
    Evidence,
    PDFToolMissingError,
    fill,
    typeset,
    web_page,
)

ROOT = Path(__file__).parents[2]


def main(
    results: str = str(ROOT / "results"),
    folder: str = str(ROOT / "docs" / "_build" / "report"),
) -> None:
    """Fill the templates, write the files, and print their paths."""
    evidence = Evidence(Path(results))
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    for name in REPORTS:
        report = fill(name, evidence)
        page = out / f"{name}.html"
        page.write_text(web_page(report), "utf-8")
        try:
            pages = typeset(report, out / f"{name}.pdf")
        except PDFToolMissingError as error:
            sys.stdout.write(f"{page}\n{error}\n")
        else:
            sys.stdout.write(f"{page}\n{out / name}.pdf: {pages} pages\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])

"""Save the first figure of each finished run as a picture for the site.

The pictures are ``docs/images/recipes/*.webp``; ``*-phone.webp`` are the versions for
phones. Usage: ``python docs/_ext/pictures.py [FOLDER OF RUNS]``, which ``make board``
runs. The picture of a recipe without a finished run is not changed.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from inweights.actions import find
from inweights.recipes import get_recipe, recipe_names
from inweights.report.base.save import png
from inweights.report.figures.draw import draw, draw_for_phone

FOLDER = Path(__file__).parents[1] / "images" / "recipes"
WIDTH = 1200


def main(runs: str | None = None) -> None:
    """Draw each figure, reduce it to the size of the site, and write it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in recipe_names():
        outcome = find(name, runs=runs)
        figures = get_recipe(name).figures
        if outcome is None or not figures:
            continue
        file = FOLDER / f"{name.replace('/', '-')}.webp"
        _keep(draw(figures[0], outcome.tables), file)
        if (phone := draw_for_phone(figures[0], outcome.tables)) is not None:
            _keep(phone, file.with_stem(f"{file.stem}-phone"))


def _keep(drawn: Figure, file: Path) -> None:
    picture = Image.open(io.BytesIO(png(drawn))).convert("RGB")
    picture.thumbnail((WIDTH, 4 * WIDTH))
    picture.save(file, quality=82, method=6)
    sys.stdout.write(f"{file.name}: {file.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main(*sys.argv[1:2])

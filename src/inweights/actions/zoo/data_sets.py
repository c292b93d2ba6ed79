"""Write results and models as data sets that others can find and cite: ``make cards``.

:func:`write_data_sets` writes four folders with cards: the scores of all judged seeds,
the ledger of claims, the worlds of the stored models, and these models.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from inweights.actions.configs import from_dict
from inweights.actions.ledger.lines import LEDGER, stored_root
from inweights.actions.ledger.results import board
from inweights.actions.zoo import cards, weights
from inweights.config import load_toml
from inweights.recipes.papers import papers
from inweights.worlds import save_world
from inweights.worlds.families.storage.data_cards import DataFile, DataSet, write_cards
from inweights.worlds.families.storage.world_card import COLUMNS, TAGS, world_files
from inweights.worlds.readers.new_folder import new_folder

if TYPE_CHECKING:
    from inweights.worlds.world import World

_TEXT = load_toml(Path(__file__).with_suffix(".toml"))


def write_data_sets(out: str | Path) -> list[Path]:
    """Write the scores, the ledger, the worlds and the models, each as a folder with cards.

    Each folder contains ``README.md``, in the format of Hugging Face, and
    ``croissant.json``, with the hash of every file. Identical results produce identical
    files.

    Args:
        out: Folder to write, which must not exist yet.

    Returns:
        Paths of the four folders: ``scores``, ``ledger``, ``worlds`` and ``models``.

    Raises:
        DataError: The folder exists or cannot be written, or the ledger or the scores
            are damaged.
        ConfigError: There is no ledger, for example because ``$INWEIGHTS_RESULTS`` is
            an empty folder.
    """
    made: dict[str, Callable[[Path], list[DataFile]]] = {
        "scores": _scores,
        "ledger": _ledger,
        "worlds": _worlds,
        "models": _models,
    }
    last = board(results=stored_root()).ledger["date"].max()
    with new_folder(out) as work:
        for name, write in made.items():
            folder = work / name
            folder.mkdir()
            _describe(folder, name, write(folder), str(last))
    return [Path(out) / name for name in made]


def _describe(
    folder: Path, name: str, files: Sequence[DataFile], published: str
) -> None:
    """Write the cards of a folder, using the texts in ``data_sets.toml``."""
    text: dict[str, Any] = _TEXT[name]
    columns = COLUMNS if name == "worlds" else text["columns"]
    about = DataSet(
        name=f"inweights-{name}",
        title=text["title"],
        says=text["says"],
        body=text["body"],
        files=files,
        columns=columns,
        tags=(*TAGS, *text["tags"]),
        published=published,
    )
    write_cards(folder, about)


def _scores(folder: Path) -> list[DataFile]:
    """Write the scores as they are stored, one file per paper."""
    files = []
    for source in sorted((stored_root() / "scores").glob("*.parquet")):
        shutil.copyfile(source, folder / source.name)
        paper = papers()[source.stem]
        says = f"Claims on {paper.title}"
        if eprint := paper.citation.get("eprint"):
            says += f" (arXiv:{eprint})"
        if paper.title == "inweights":
            says = "Claims of our own."
        files.append(DataFile(source.name, says, part=source.stem))
    return files


def _ledger(folder: Path) -> list[DataFile]:
    """Write the ledger unchanged and as a table, and the verdicts that follow from it."""
    shutil.copyfile(stored_root() / LEDGER, folder / LEDGER)
    stored = board(results=stored_root())
    stored.ledger.write_parquet(folder / "ledger.parquet")
    stored.verdicts.write_parquet(folder / "verdicts.parquet")
    says: dict[str, str] = _TEXT["ledger"]["files"]
    return [
        DataFile("verdicts.parquet", says["verdicts"], part="verdicts"),
        DataFile("ledger.parquet", says["table"], part="ledger"),
        DataFile(LEDGER, says["lines"]),
    ]


def _worlds(folder: Path) -> list[DataFile]:
    """Write each world on which a stored model was trained, and return its files."""
    files = []
    for name, world in _distinct_worlds():
        save_world(world, folder / name)
        (folder / name / "README.md").unlink()  # the whole data set has a single card
        files += world_files(f"{name}/", name)
    return files


def _distinct_worlds() -> Iterator[tuple[str, World]]:
    """Yield the different worlds of the stored models, by name."""
    seen: list[dict[str, Any]] = []
    for card in cards():
        if card.world not in seen:
            seen.append(card.world)
            yield card.name.replace("/", "--"), from_dict(card.world).build(0)


def _models(folder: Path) -> list[DataFile]:
    """Write the weights of each stored model, and a table that describes them."""
    rows = []
    files = [DataFile("models.parquet", _TEXT["models"]["table"], part="models")]
    for card in cards():
        name = weights(card.name).name
        shutil.copyfile(weights(card.name), folder / name)
        files.append(DataFile(name, f"`{card.name}`: {card.claim}"))
        row: dict[str, Any] = {"name": card.name, "file": name, "claim": card.claim}
        for column in ("world", "model", "learner", "accuracy"):
            row[column] = msgspec.json.encode(getattr(card, column)).decode()
        row["seeds"] = list(card.seeds)
        row["hop_correlation"] = card.hop_correlation
        rows.append(row)
    pl.DataFrame(rows).write_parquet(folder / "models.parquet")
    return files


if __name__ == "__main__":
    write_data_sets(sys.argv[1])

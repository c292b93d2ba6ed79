"""Write the model card of a fine-tuned model: training data, method and scores.

:func:`model_card` returns the text, and :func:`add_scores` adds an evaluation to it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from inweights.config import to_plain
from inweights.errors import DataError
from inweights.lm.tuning.fine_tune import FineTune
from inweights.support.limits import read_text
from inweights.support.publish import publish_file
from inweights.worlds.readers.new_folder import reason

__all__ = ["add_scores", "card_of", "model_card"]

_SCORES = "## Scores\n"
_CARD = Path(__file__).with_name("card.md").read_text(encoding="utf-8")


def model_card(
    base: str,
    data: Path | None,
    part: str,
    config: FineTune,
    *,
    chat: bool,
    losses: pl.DataFrame,
    tokens: int,
) -> str:
    """Return the model card of a fine-tuned model, as Markdown.

    Args:
        base: Source of the original model, such as a folder or ``@smollm2``.
        data: File or folder of the examples; ``None`` if they were given from Python.
        part: Part of the data set: ``train`` or ``control``.
        config: Settings of the fine-tuning.
        chat: Whether the model was trained with its chat template.
        losses: Table of :class:`~inweights.lm.FineTuned`, with the column ``loss`` and
            at least one row.
        tokens: Number of tokens that were read in training.

    Example:
        >>> losses = pl.DataFrame({"loss": [2.0, 1.0]})
        >>> settings = FineTune()
        >>> card = model_card("@tiny", None, "train", settings, chat=False, losses=losses, tokens=9)
        >>> "Examples given from Python." in card
        True
    """
    settings = "\n".join(
        f"- {name}: {value}" for name, value in to_plain(config).items()
    )
    return _CARD.format(
        base=base,
        quoted=msgspec.json.encode(
            base
        ).decode(),  # a plain scalar of YAML must not begin with @
        chat=", in its chat template" if chat else "",
        told=_training_texts(data, part),
        settings=settings,
        first=losses["loss"][0],
        last=losses["loss"][-1],
        updates=losses.height,
        tokens=tokens,
    )


def _training_texts(data: Path | None, part: str) -> str:
    """Describe the training texts: their strategies and numbers, or the name of the file."""
    if data is None:
        return "Examples given from Python."
    counts = data / "counts.json"
    try:
        about = msgspec.json.decode(read_text(counts), type=dict[str, Any])
    # The data are a single file, or a folder that `inweights augment` did not write.
    except (
        DataError,
        msgspec.DecodeError,
    ):
        return f"Texts of `{data.name}`."
    strategies = ", ".join(about.get("strategies", ())) or "none, the facts alone"
    if part == "control":
        strategies = f"none: the control of {strategies}"
    rows = {
        k: v for k, v in about.get("rows", {}).items() if not k.startswith("question")
    }
    listed = "\n".join(
        f"- texts of the role `{role}`: {count:,}" for role, count in rows.items()
    )
    return f"Strategies: {strategies}.\n\n{listed if part != 'control' else ''}".strip()


def card_of(folder: Path) -> Path:
    """Return the path of a model's card, ``README.md`` in its folder.

    Args:
        folder: Folder that ``inweights finetune`` wrote.

    Raises:
        DataError: The folder has no card.
    """
    card = folder / "README.md"
    if not card.is_file():
        raise DataError(
            f"{folder} has no model card (the file README.md, which 'inweights finetune' "
            "writes)"
        )
    return card


def add_scores(folder: Path, made: Mapping[str, Any]) -> None:
    """Write an evaluation into the card of a model, replacing an earlier one.

    Args:
        folder: Folder that ``inweights finetune`` wrote.
        made: Result of :func:`inweights.lm.evaluation`, of which ``summary`` and, if
            there is a comparison, ``paired`` and ``kept`` are written.

    Raises:
        DataError: The folder has no card, or the card cannot be written (for example
            because the disk is full). The card is then left unchanged.
    """
    card = card_of(folder)
    before = {test["role"]: test for test in made.get("paired", ())}
    lines = ["| asked | questions | before | after | chance |", "|---|---|---|---|---|"]
    for row in made["summary"].iter_rows(named=True):
        test = before.get(row["role"])
        was = f"{row['accuracy'] - test['mean']:.2f}" if test else ""
        lines.append(
            f"| {row['role']} | {row['questions']:,} | {was} | {row['accuracy']:.2f} | "
            f"{row['chance']:.2f} |"
        )
    lost = made.get("kept")
    if lost:
        lines += ["", "Earlier knowledge, 24 plain questions and four texts:", ""]
        lines += [
            f"- {name}: {lost[name][0]:.2f} before, {lost[name][1]:.2f} after"
            for name in ("accuracy", "perplexity", "repeats", "spilled")
        ]
        lines += [
            "",
            "Damage: " + ("; ".join(lost["damage"]) or "none was found") + ".",
        ]
    text = card.read_text(encoding="utf-8").partition(_SCORES)[0]
    try:
        publish_file(card, (text + _SCORES + "\n" + "\n".join(lines) + "\n").encode())
    except OSError as error:
        raise DataError(
            f"cannot write {card}: {reason(error)}; the card is unchanged"
        ) from None

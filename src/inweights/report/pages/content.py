"""What a page shows, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inweights.lab.grammar.claim import ClaimResult

if TYPE_CHECKING:
    from inweights.lab.grammar.figure import Figure


@dataclass(frozen=True, kw_only=True)
class PageContent:
    """What a page shows.

    Attributes:
        title: What the recipe shows, or that it is in question.
        paper: Full name of the paper.
        place: Where in the paper.
        summary: What is done, in a paragraph.
        recipe: Name of the recipe.
        scale: ``smoke``, ``cpu`` or ``paper``.
        seeds: Root seeds of the replicates.
        seconds: Wall time of the run in seconds.
        folder: The run folder.
        claims: Claims with their verdicts.
        figures: Figures to draw.
        tables: Tables by name.
        config: Resolved settings, plain and nested.
        environment: Versions and machine, plain.
        ours: Settings that are our choice: dotted names, or sentences.
        command: How to run it again.
        cite: BibTeX entries of the paper and of the project.
        part: Names of its claims, if the run is a part of a recipe.
        cautions: What a reader has to know of the numbers.
    """

    title: str
    paper: str
    place: str
    summary: str
    recipe: str
    scale: str
    seeds: tuple[int, ...]
    seconds: float
    folder: str
    claims: Sequence[ClaimResult]
    figures: Sequence[Figure]
    tables: Mapping[str, pl.DataFrame]
    config: Mapping[str, Any]
    environment: Mapping[str, Any]
    ours: Sequence[str]
    command: str
    cite: Sequence[str] = ()
    part: tuple[str, ...] = ()
    cautions: Sequence[str] = ()

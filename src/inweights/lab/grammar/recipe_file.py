"""The texts of a recipe as data: the TOML file next to its code.

The file has the title, the paper's claims with their sentences and places, and the figures; the
code has the settings, the plan and a score for each claim. Both sides name the same claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, Unpack

from inweights.config import Config, decode, load_toml
from inweights.errors import ConfigError, unknown_name
from inweights.lab.grammar.claim import Claim, Judged, Protocol, Rule
from inweights.lab.grammar.figure import Figure
from inweights.lab.grammar.recipe import Code, Paper, Recipe

C = TypeVar("C", bound=Config)


class StatedClaim(Config):
    """A claim without its score.

    Attributes:
        says: The sentence.
        place: Where in the paper; the recipe's ``cited`` if left out.
        source: Short name of the paper, or ``ours``; that of the recipe's paper if left out.
        quote: The paper's own words, 25 at most; ``none in words``, or ``text not at hand``.
        published: The number that the paper prints, or the relation (``> 1/C``); ``none printed``,
            or ``lost in the text at hand``.
        close: Smallest and largest number that has the published size; within a factor of 1.5 of it
            if left out.
        judged: What of the seeds' numbers is judged: ``typical``, the median; ``reliable``, the
            share of seeds that meet the target by themselves, for a sentence that says *always*,
            *never* or *fails*; ``mean``, where the paper prints a mean.
        protocol: How near to the paper's protocol it is judged; the recipe's if left out.
        condition: Under which of its trials' conditions it is judged; the recipe's if left out.
        check: Whether it holds by construction.
    """

    says: str
    place: str = ""
    source: str = ""
    quote: str = ""
    published: float | str | None = None
    close: tuple[float, float] | None = None
    judged: Rule = "typical"
    protocol: Protocol | None = None
    condition: str | None = None
    check: bool = False


class StatedFigure(Config):
    """A figure: which drawing, of which tables, and how.

    Attributes:
        drawing: Name of a drawing function of ``inweights.report.figures.draw``.
        tables: Tables that it draws, in the order of the function's arguments.
        title: What the figure shows, in a few words.
        caption: How to read it.
        options: Keyword arguments of the drawing function.
        finds: What is seen, if the claims hold; until they do, it is said as what is expected.
    """

    drawing: str
    tables: tuple[str, ...]
    title: str
    caption: str
    options: dict[str, Any] = {}
    finds: str = ""


class RecipeFile(Config):
    """Everything that a recipe says.

    Attributes:
        title: What it shows.
        place: Where in the paper.
        cited: The same in short, the place of its claims; ``place`` if left out.
        summary: What is done, in a paragraph.
        condition: Under which condition its claims are judged, where their scores do not say so.
        protocol: How near to the paper's protocol its claims are judged.
        ours: Settings that the paper leaves open (dotted names), and sentences that say more.
        notes: Names of notes that several recipes share (``geometric-memory/ssm``).
        settings: What each setting decides, by its name.
        claims: What is judged, by id; each is a :class:`StatedClaim`.
        figures: What is drawn, by id; each is a :class:`StatedFigure`.
    """

    title: str
    place: str = ""
    cited: str = ""
    summary: str = ""
    condition: str = ""
    protocol: Protocol | None = None
    ours: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    claims: dict[str, dict[str, Any]] = {}
    figures: dict[str, dict[str, Any]] = {}


def read_recipe(
    path: Path,
    paper: Paper,
    *,
    scores: Mapping[str, Judged],
    notes: Mapping[str, Sequence[str]] | None = None,
    **code: Unpack[Code],
) -> Recipe:
    """Return the recipe whose words are in a TOML file, named as the file is.

    Args:
        path: The file.
        paper: The paper that the recipe is of.
        scores: The judged score of each claim, by the claim's id.
        notes: Notes that recipes share, by name.
        code: ``scales``, ``seeds``, ``plan``; ``derive`` and ``version`` where there are such.

    Raises:
        ConfigError: The file is not a recipe file, or a claim lacks its score or its sentence.
    """
    file = _decoded(RecipeFile, load_toml(path), str(path))
    claims = _entries(StatedClaim, file.claims, f"{path}: claims")
    figures = _entries(StatedFigure, file.figures, f"{path}: figures")
    name = path.stem.replace("_", "-")
    _check_ids(path, claims, scores)
    state = paper.stating(name, file.cited or file.place, file.condition)
    known = notes or {}
    for note in file.notes:
        if note not in known:
            raise unknown_name("note", note, known, hint=f"{path.name}.")
    fields = next(iter(code["scales"].values())).__struct_fields__
    for setting in file.settings:
        if setting not in fields:
            raise unknown_name("setting", setting, fields, hint=f"{path.name} says what it means.")
    made = paper.recipe(
        name,
        title=file.title,
        place=file.place,
        summary=_folded(file.summary),
        claims=tuple(
            _claim(state, id_, said, scores[id_], file.protocol) for id_, said in claims.items()
        ),
        figures=tuple(_figure(id_, said) for id_, said in figures.items()),
        ours=_all_folded((*file.ours, *(text for note in file.notes for text in known[note]))),
        **code,
    )
    return replace(made, meanings={name: _folded(text) for name, text in file.settings.items()})


def _entries(kind: type[C], values: Mapping[str, Mapping[str, Any]], where: str) -> dict[str, C]:
    return {id_: _decoded(kind, entry, f"{where}.{id_}") for id_, entry in values.items()}


def _decoded(kind: type[C], values: Mapping[str, Any], where: str) -> C:
    try:
        return decode(kind, values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _check_ids(path: Path, said: Mapping[str, StatedClaim], scores: Mapping[str, Judged]) -> None:
    for id_ in said:
        if id_ not in scores:
            raise ConfigError(f"{path.name}: claim '{id_}' has no score in the recipe's code")
    for id_ in scores:
        if id_ not in said:
            raise unknown_name(
                "claim", id_, said, hint=f"It has a score; {path.name} has no words."
            )


def _claim(
    state: Callable[..., Claim],
    id_: str,
    said: StatedClaim,
    judged: Judged,
    protocol: Protocol | None,
) -> Claim:
    published, ours = said.published, said.source == "ours"
    return state(
        id_,
        _folded(said.says),
        judged,
        place=said.place,
        source=said.source,
        rule=said.judged,
        published=f"{published:g}" if isinstance(published, float | int) else published,
        check=said.check,
        condition=said.condition,
        quote=_folded(said.quote),
        protocol=said.protocol or (None if ours else protocol),
        close=said.close,
    )


def _figure(id_: str, said: StatedFigure) -> Figure:
    return Figure(
        id=id_,
        kind=said.drawing,
        title=said.title,
        caption=_folded(f"{said.caption} {said.finds}"),
        sources=said.tables,
        options=said.options,
        finds=_folded(said.finds),
    )


def _folded(text: str) -> str:
    """A paragraph: the lines of a file are joined by spaces."""
    return " ".join(text.split())


def _all_folded(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(_folded, texts))

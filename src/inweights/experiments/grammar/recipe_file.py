"""Read the texts and settings of a recipe from the TOML file next to its code.

The file has the title, the paper's claims with their sentences and places, the figures,
and the settings of each scale; the code has their defaults, the plan and a score for
each claim.
:func:`read_recipe` joins both sides, which have to name the same claims.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, Unpack

from inweights.config import Config, decode, load_toml, to_plain
from inweights.errors import ConfigError, check_names
from inweights.experiments.claims.claim import Claim, Protocol, Rule, Stating
from inweights.experiments.claims.score import Judged
from inweights.experiments.grammar.figure import Figure
from inweights.experiments.grammar.protocols.protocol_file import PaperProtocol, Reason
from inweights.experiments.grammar.recipe import Code, Paper, Recipe

C = TypeVar("C", bound=Config)
#: What a claim takes from its file as it stands.
_SAME = ("place", "source", "check", "condition", "close")


class StatedClaim(Config):
    """A claim as a recipe's file states it: all but its score, which the code has.

    Attributes:
        says: The claim, as a sentence.
        place: Where in the paper; the recipe's own if left out.
        source: Short name of the paper, or ``ours``; the recipe's own if left out.
        quote: The paper's own words, 25 at most; ``none in words``, or ``text not at
            hand``.
        published: The number that the paper prints, or the relation (``> 1/C``); ``none
            printed``, or ``lost in the text at hand``.
        close: Smallest and largest value that count as close to the published number;
            within a factor of 1.5 of it if left out.
        judged: ``typical`` judges the median; ``reliable`` is for a sentence that says
            *always*, *never* or *fails*; ``mean`` is for a paper that prints a mean.
        protocol: How closely the paper's protocol is followed; the recipe's own if left
            out.
        condition: Under which condition the claim is judged; the recipe's if left out.
        check: Whether the claim holds by construction.
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
    """A :class:`Figure` as a recipe's file states it.

    Attributes:
        drawing: Its kind, the name of the drawing function.
        tables: The tables that it draws.
        title: What the figure shows.
        caption: How to read it.
        options: Keyword arguments of the drawing function.
        finds: The result, at the end of the caption; shown as an expectation until the
            claims hold.
    """

    drawing: str
    tables: tuple[str, ...]
    title: str
    caption: str
    options: dict[str, Any] = {}
    finds: str = ""


class RecipeFile(Config):
    """Everything that a recipe says in its file.

    Attributes:
        title: What the recipe shows, in one sentence.
        place: Where in the paper.
        cited: Its ``place`` in short, for its claims; the same if left out.
        summary: What is done, in a few sentences.
        condition: Under which condition its claims are judged, where their scores do
            not say so.
        protocol: How near to the paper's protocol its claims are judged.
        published: What the paper prints, for claims without their own.
        quote: The paper's words, for claims without their own.
        seeds: Number of replicates, by scale or at all; as the code says if left out.
        version: Of the recipe; as the code says if left out.
        ours: Names of settings that are ours; sentences; and reasons why settings of a
            world, a model, a learner or a measure are not the paper's.
        notes: Names of notes that several recipes share (``geometric-memory/ssm``).
        settings: What each setting decides, by its name.
        scales: Settings by scale, where the code does not give them; others have their
            defaults. A table ``{ use = "NAME" }`` is a config of the code, or several,
            with what else it has.
        configs: Further configs, or lists of some, that settings of a scale may
            ``use``, by name.
        claims: What is judged, by id; each is a :class:`StatedClaim`.
        figures: What is drawn, by id; each is a :class:`StatedFigure`.
    """

    title: str
    place: str = ""
    cited: str = ""
    summary: str = ""
    condition: str = ""
    protocol: Protocol | None = None
    published: float | str | None = None
    quote: str = ""
    seeds: int | dict[str, int] | None = None
    version: int | None = None
    ours: tuple[str | Reason, ...] = ()
    notes: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    scales: dict[str, dict[str, Any]] = {}
    configs: dict[str, Any] = {}
    claims: dict[str, dict[str, Any]] = {}
    figures: dict[str, dict[str, Any]] = {}


def read_recipe(
    path: Path,
    paper: Paper,
    *,
    scores: Mapping[str, Judged],
    notes: Mapping[str, Sequence[str]] | None = None,
    names: Mapping[str, Any] | None = None,
    protocol: PaperProtocol | None = None,
    **code: Unpack[Code],
) -> Recipe:
    """Return the recipe whose words are in a TOML file; it is named as the file is.

    Args:
        path: The file.
        paper: What the recipes of the paper share.
        scores: Score and target of each claim, by the claim's id.
        notes: Sentences that recipes share, by the name of the note.
        names: Configs of the code that settings of a scale may ``use``, such as its
            ``globals()``.
        protocol: What the paper and its code state, where that is known.
        **code: ``scales``, at least one, ``seeds`` and ``plan``, and if wanted
            ``derive`` and ``version``.

    Raises:
        ConfigError: The file does not fit, or file and code do not name the same
            claims; the message says where.
    """
    file = _decoded(RecipeFile, load_toml(path), f"{path}")
    claims = file.claims.items()
    figures = file.figures.items()
    said = {
        id_: _decoded(StatedClaim, one, f"{path}: claims.{id_}") for id_, one in claims
    }
    drawn = {
        id_: _decoded(StatedFigure, one, f"{path}: figures.{id_}")
        for id_, one in figures
    }
    shared = notes or {}
    kind = type(next(iter(code["scales"].values())))
    used = {**(names or {}), **file.configs}
    code["scales"] = dict(code["scales"]) | {
        scale: _decoded(kind, values, f"{path}: scales.{scale}", used)
        for scale, values in file.scales.items()
    }
    if file.seeds is not None:
        code["seeds"] = file.seeds
    if file.version is not None:
        code["version"] = file.version
    _check_names(path, file, said, scores, shared, kind)
    name = path.stem.replace("_", "-")
    state = paper.stating(name, file.cited or file.place, file.condition)
    made = paper.recipe(
        name,
        title=file.title,
        place=file.place,
        summary=_folded(file.summary),
        claims=[
            _claim(state, id_, one, scores[id_], file) for id_, one in said.items()
        ],
        figures=[_figure(id_, one) for id_, one in drawn.items()],
        ours=list(map(_folded, _ours(file, shared))),
        **code,
    )
    meanings = {name: _folded(text) for name, text in file.settings.items()}
    reasons = tuple(one for one in file.ours if isinstance(one, Reason))
    return replace(made, meanings=meanings, reasons=reasons, protocol=protocol)


def _check_names(
    path: Path,
    file: RecipeFile,
    said: Mapping[str, StatedClaim],
    scores: Mapping[str, Judged],
    notes: Mapping[str, Sequence[str]],
    kind: type[Config],
) -> None:
    """Check that file and code name the same claims, and that notes and settings exist."""
    for id_ in said:
        if id_ not in scores:
            raise ConfigError(
                f"{path.name}: claim '{id_}' has no score in the recipe's code"
            )
    check_names(
        "claim", scores, said, hint=f"It has a score; {path.name} has no words."
    )
    check_names("note", file.notes, notes, hint=f"{path.name}.")
    fields = kind.__struct_fields__
    check_names(
        "setting", file.settings, fields, hint=f"{path.name} says what it means."
    )


def _ours(file: RecipeFile, notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return all that is said of choices of ours: reasons, sentences, and shared notes."""
    texts = [one.why if isinstance(one, Reason) else one for one in file.ours]
    for note in file.notes:
        texts += notes[note]
    return texts


def _decoded(
    kind: type[C],
    values: Mapping[str, Any],
    where: str,
    names: Mapping[str, Any] | None = None,
) -> C:
    """Return values of a file as a config; errors name the place in the file."""
    try:
        return decode(kind, _with_used(values, names) if names else values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _with_used(value: Any, names: Mapping[str, Any]) -> Any:
    """Return plain values, with configs in place of ``use = "NAME"``."""
    if isinstance(value, list | tuple):
        return [_with_used(one, names) for one in value]
    if isinstance(value, Config):
        return to_plain(value)
    if not isinstance(value, Mapping):
        return value
    own = {key: _with_used(one, names) for key, one in value.items() if key != "use"}
    if "use" not in value:
        return own
    first, *rest = str(value["use"]).split(".")
    found = names.get(first)
    for part in rest:
        found = getattr(found, part, None)
    used = _with_used(found, names)
    if isinstance(used, list) and not own:
        return used
    if not isinstance(used, Mapping):
        raise ConfigError(
            f"use = '{value['use']}' is no config of the recipe's code or files"
        )
    return {**used, **own}


def _claim(
    state: Stating, id_: str, said: StatedClaim, judged: Judged, file: RecipeFile
) -> Claim:
    """Return a claim; what its statement leaves out is as the recipe says."""
    general = StatedClaim(says="") if said.source == "ours" else file
    published = general.published if said.published is None else said.published
    same = {name: getattr(said, name) for name in _SAME}
    return state(
        id_,
        _folded(said.says),
        judged,
        rule=said.judged,
        published=f"{published:g}" if isinstance(published, float | int) else published,
        quote=_folded(said.quote or general.quote),
        protocol=said.protocol or general.protocol,
        **same,
    )


def _figure(id_: str, said: StatedFigure) -> Figure:
    """Return the figure of a stated one."""
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
    """Return a paragraph: the lines of a file joined by spaces."""
    return " ".join(text.split())

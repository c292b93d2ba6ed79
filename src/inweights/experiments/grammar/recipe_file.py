"""Read the texts and settings of a recipe from the TOML file next to its code.

The file contains the title, the claims with their sentences and places, the figures,
and the settings of each scale. The code contains the default settings, the plan, and a
score for each claim. :func:`read_recipe` combines both and checks that they name the
same claims.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, Unpack

from inweights.config import Config, decode, load_toml, to_plain
from inweights.errors import ConfigError, check_names
from inweights.experiments.claims.claim import Claim
from inweights.experiments.claims.score import Judged
from inweights.experiments.claims.stating import Stating
from inweights.experiments.grammar.figure import Figure
from inweights.experiments.grammar.paper import Code, Paper
from inweights.experiments.grammar.protocols.protocol_file import PaperProtocol, Reason
from inweights.experiments.grammar.recipe import Recipe
from inweights.experiments.grammar.recipe_entries import (
    RecipeFile,
    StatedClaim,
    StatedFigure,
)

C = TypeVar("C", bound=Config)
#: Attributes of a claim that are copied from its file without changes.
_SAME = ("place", "source", "check", "condition", "close")


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
    """Read a recipe from a TOML file and its Python code.

    Args:
        path: Path of the TOML file.
        paper: The paper to which the recipe belongs.
        scores: Score and target of each claim, keyed by the claim's short name in the
            file.
        notes: Sentences that several recipes share, keyed by the name of the note. The
            file lists the notes that apply to the recipe. By default there are none.
        names: Configs of the code to which ``use`` in the file refers, such as the
            module's ``globals()``. By default there are none.
        protocol: Statements of the paper and its code about the settings; ``None`` if
            unknown.
        **code: ``scales``, the default settings of each scale, keyed by its name (at
            least one scale); ``seeds``, the number of seeds for all scales, or a
            mapping from scales to numbers; and ``plan``, the function that returns the
            plan for given settings. Optionally ``derive``, the function that computes
            further tables, and ``version`` (see :class:`Code`). ``seeds`` and
            ``version`` of the file take precedence.

    Returns:
        The recipe. Its name is ``<source of the paper>/<name of the file>``, with
        hyphens in place of the underscores of the file's name.

    Raises:
        ConfigError: The file is missing or invalid; file and code do not name the same
            claims; a note, a setting or the name of a ``use`` does not exist; a scale
            is unknown, or has settings but no seeds or seeds but no settings; or a
            claim is invalid. A claim is invalid if it is the paper's and lacks a quote,
            a published number or a protocol; if its quote has more than 25 words; or,
            unless it is a check, if the lower end of its target is at or above the
            score's upper bound or the upper end at or below the score's lower bound.
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
        title=_folded(file.title),
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
        "claim",
        scores,
        said,
        hint=f"It has a score, but {path.name} does not state it.",
    )
    check_names("note", file.notes, notes, hint=f"{path.name}.")
    fields = kind.__struct_fields__
    check_names(
        "setting", file.settings, fields, hint=f"{path.name} says what it means."
    )


def _ours(file: RecipeFile, notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return all statements about our own choices: reasons, sentences and shared notes."""
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
    """Decode values of a file as a config; error messages name the place in the file."""
    try:
        return decode(kind, _with_used(values, names) if names else values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _with_used(value: Any, names: Mapping[str, Any]) -> Any:
    """Return plain values in which ``use = "NAME"`` is replaced by the config of that name."""
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
            "'use' must name a config in the recipe's code or files, got "
            f"'{value['use']}'"
        )
    return {**used, **own}


def _claim(
    state: Stating, id_: str, said: StatedClaim, judged: Judged, file: RecipeFile
) -> Claim:
    """Return a claim; attributes that its entry does not state are taken from the recipe's file."""
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
    """Return the figure that a recipe's file describes."""
    return Figure(
        id=id_,
        kind=said.drawing,
        title=_folded(said.title),
        caption=_folded(f"{said.caption} {said.finds}"),
        sources=said.tables,
        options=said.options,
        finds=_folded(said.finds),
    )


def _folded(text: str) -> str:
    """Return a paragraph, with the line breaks of the file replaced by spaces."""
    return " ".join(text.split())

"""Read the protocol of a paper: the statements of its text and its code about each setting.

A :class:`PaperProtocol` is read from ``protocol.toml`` in the folder of a paper's
recipes. :mod:`~.compare` compares it with what a recipe trains and measures.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from inweights.config import Config, decode, load_toml
from inweights.errors import ConfigError

#: Text for an option that is not set (``None``), for which TOML has no value.
NOTHING = "none"


class PaperText(Config):
    """Version of the paper's text and code on which the protocol is based.

    Attributes:
        version: Version of the text, such as ``v2``.
        date: Date of that version.
        read_on: Date on which the text was read.
        venue: Venue of publication, or ``not stated``.
        code: The paper's code as ``owner/repository@commit``; or a note that no code
            was found, with the places that were searched.
        changes: Sentences about other versions of the text or code and how they differ
            from this one; by default none.
    """

    version: str
    date: str
    read_on: str
    venue: str
    code: str
    changes: tuple[str, ...] = ()


class PaperSetting(Config):
    """Statement of a paper and its code about one setting.

    Exactly one of ``paper``, ``every``, ``lost`` and ``unstated`` must be given. It
    describes what the text states.

    Attributes:
        paper: Value in the text. If it is a list, each of its items is an allowed value;
            for a setting that is itself a list, the whole list is the value.
        place: Section, table or figure in which the text states ``paper`` or ``every``;
            empty if neither is given.
        every: Whether the statement holds for every value of the setting, as for a
            theorem that holds for every size; by default false.
        lost: Place of the statement in the text, if the value is missing in our copy of
            the text; otherwise empty.
        unstated: Whether the text states no value; by default false.
        code: Value in the paper's code; ``None`` if unknown.
        at: Place in the code, as ``file:line``; empty if ``code`` is not given.
        size: Whether the setting is a size, so that a smaller value results in the same
            experiment at a smaller scale; by default false.
        ours: How the library handles the statement, if no setting corresponds to it;
            otherwise empty.

    Raises:
        ConfigError: None or several of ``paper``, ``every``, ``lost`` and ``unstated``
            are given; ``place`` is missing although ``paper`` or ``every`` is given, or
            is given without them; or only one of ``code`` and ``at`` is given.
    """

    paper: Any = None
    place: str = ""
    every: bool = False
    lost: str = ""
    unstated: bool = False
    code: Any = None
    at: str = ""
    size: bool = False
    ours: str = ""

    def __post_init__(self) -> None:
        said = (self.paper is not None, self.every, bool(self.lost), self.unstated)
        if sum(said) != 1:
            raise ConfigError(
                "a setting must have exactly one of the keys 'paper', 'every', 'lost' and "
                f"'unstated', got {sum(said)} of them"
            )
        if (self.paper is not None or self.every) != bool(self.place):
            raise ConfigError(
                "'place' is required if 'paper' or 'every' is set, and is not allowed "
                "otherwise"
            )
        if (self.code is None) != (not self.at):
            raise ConfigError("'code' and its place 'at' must be given together")

    @property
    def text(self) -> str:
        """Text that says what the paper and its code state about the setting, and where.

        Example:
            >>> PaperSetting(paper=12, place="B.2", code=6, at="config.py:80").text
            '12 (B.2); code: 6 (config.py:80)'
        """
        if self.unstated:
            said = "not stated"
        elif self.lost:
            said = f"lost in the text at hand ({self.lost})"
        else:
            said = f"{'every value' if self.every else in_words(self.paper)} ({self.place})"
        return f"{said}; code: {in_words(self.code)} ({self.at})" if self.at else said

    @property
    def open(self) -> bool:
        """Whether neither the paper's text nor its code states a value of the setting."""
        return self.paper is None and not self.every and self.code is None


class ProtocolPart(Config):
    """Part of a protocol: what the paper or its code states about some trials.

    If several parts state the same setting of a trial, the last of them applies.

    Attributes:
        title: Subject of the part.
        recipes: Short names of the recipes to which the part applies, in which ``*``
            matches any characters; by default all recipes.
        where: Required labels and settings of a trial: a mapping from names or paths to
            values or lists of allowed values. By default the part applies to all
            trials.
        settings: Statements, keyed by the path of the setting, in which ``*`` matches
            any characters; by default none.
        others: Statements to which no setting of the library corresponds, keyed by
            subject, such as ``label smoothing``.
    """

    title: str
    recipes: tuple[str, ...] = ()
    where: dict[str, Any] = {}
    settings: dict[str, PaperSetting] = {}
    others: dict[str, PaperSetting] = {}


class Reason(Config):
    """Reason why the values of some settings are our choice rather than the paper's.

    Attributes:
        leaves: Paths of the settings, in which ``*`` matches any characters.
        why: The reason, in one or more sentences.
        recipes: Short names of the recipes to which the reason applies, in which ``*``
            matches any characters; by default all recipes.
        scales: Scales to which the reason applies; by default all scales.
        where: Required labels and settings of a trial: a mapping from names or paths to
            values or lists of allowed values. By default the reason applies to all
            trials.
    """

    leaves: tuple[str, ...]
    why: str
    recipes: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
    where: dict[str, Any] = {}


class PaperProtocol(Config):
    """Statements of a paper and its code about settings, and reasons to deviate from them.

    Attributes:
        paper: Versions of the paper's text and of its code.
        parts: Statements about settings, from general to specific.
        ours: Reasons that apply to several recipes; by default none.
    """

    paper: PaperText
    parts: tuple[ProtocolPart, ...]
    ours: tuple[Reason, ...] = ()


def read_protocol(path: Path) -> PaperProtocol:
    """Read the protocol of a paper from a TOML file.

    Args:
        path: Path of the file.

    Raises:
        ConfigError: The file is missing or is not a valid protocol; the message names
            the file.
    """
    try:
        return decode(PaperProtocol, load_toml(path))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def absent() -> Mapping[str, Any]:
    """Return the values at which settings have no effect, keyed by patterns of their paths.

    A setting that a paper does not mention is assumed to have such a value in the
    paper. For example, a paper that does not mention dropout is assumed to use none.

    Returns:
        A mapping from patterns of paths, in which ``*`` stands for any characters, to
        values. It is shared between calls and must not be changed.

    Example:
        >>> absent()["model.loops"]
        1
    """
    return _absent()


@lru_cache(maxsize=1)
def _absent() -> Mapping[str, Any]:
    return load_toml(Path(__file__).with_name("absent.toml"))


def fits(where: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Return whether labels and settings have the values that ``where`` requires.

    Args:
        where: Mapping from names to required values or lists of allowed values; see
            :func:`equal`. If empty, the result is true.
        values: Actual labels and settings, keyed by name. If a name in ``where`` is
            missing here, the result is false.

    Example:
        >>> fits({"graph": ["cycle", "grid"]}, {"graph": "grid", "model.width": 32})
        True
    """
    return all(
        name in values and equal(wanted, values[name]) for name, wanted in where.items()
    )


def equal(stated: Any, value: Any) -> bool:
    """Return whether a value is the stated value or one of a list of stated values.

    Args:
        stated: Value or list of values from a protocol file. Booleans are different
            from the numbers 0 and 1.
        value: Actual value of a setting.

    Example:
        >>> equal([16, 32], 32), equal([0.9, 0.999], [0.9, 0.999]), equal(1, True)
        (True, True, False)
        >>> equal([[], ["tokens.*"]], ["tokens.*"]), equal(["tokens.*"], [])
        (True, False)
    """
    if isinstance(stated, list | tuple):
        same = isinstance(value, list | tuple) and len(stated) == len(value)
        whole = same and all(map(equal, stated, value))
        among = [one for one in stated if _is_list(one) == _is_list(value)]
        return whole or any(equal(one, value) for one in among)
    return isinstance(stated, bool) == isinstance(value, bool) and bool(stated == value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


@lru_cache(maxsize=100_000)
def named(pattern: str, path: str) -> bool:
    """Return whether a pattern matches a whole path; the comparison is case-sensitive.

    Args:
        pattern: Pattern in which ``*`` stands for any characters (including dots),
            ``?`` for any single character, and ``[...]`` for one of the characters in
            the brackets (:mod:`fnmatch`).
        path: Path of a setting, such as ``model.width``.
    """
    return fnmatchcase(path, pattern)


def in_words(value: Any) -> str:
    """Return a value as the text that is shown on the pages of a report.

    Booleans become ``yes`` and ``no``; ``None`` and an empty text, list or mapping
    become ``none``; floats have up to six significant digits; items of a list are
    joined by commas. Other values are converted by ``str``.

    Args:
        value: Value of a setting.

    Example:
        >>> in_words(True), in_words([16, 32]), in_words(0.01), in_words([])
        ('yes', '16, 32', '0.01', 'none')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value)) or NOTHING
    if value is None or value in ("", {}):
        return NOTHING
    return f"{value:g}" if isinstance(value, float) else str(value)

"""Read the protocol of a paper: what its text and its code state, setting by setting.

A :class:`PaperProtocol` is read from ``protocol.toml`` in the folder of a paper's
recipes.
:mod:`inweights.experiments.grammar.protocols.compare` compares what a recipe trains and
measures with it.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from inweights.config import Config, decode, load_toml
from inweights.errors import ConfigError

#: How an option that is not set (``None``) is written in TOML, which has no word for
#: it.
NOTHING = "none"


class PaperText(Config):
    """Which text of a paper is judged, and which code.

    Attributes:
        version: Of the text that was read, such as ``v2``.
        date: Of that version.
        read_on: When it was read.
        venue: Where it is published; ``not stated`` if it does not say.
        code: ``owner/repository@commit``; or that none was found, and where it was
            looked for.
        changes: Differing statements of other versions, each with its version.
    """

    version: str
    date: str
    read_on: str
    venue: str
    code: str
    changes: tuple[str, ...] = ()


class PaperSetting(Config):
    """Statement of a paper and its code about one setting.

    Exactly one of ``paper``, ``every``, ``lost`` and ``unstated`` says what the text
    has.

    Attributes:
        paper: Its value in the text; a list means any of them, or all where the setting
            is a list.
        place: Where the text says so: a section, a table or a figure.
        every: Whether the statement holds for every value, as a theorem for every size.
        lost: Place in our copy of the text where the value is missing.
        unstated: Whether the text does not state it.
        code: Its value in the paper's code.
        at: Where the code says so: ``file:line``.
        size: Whether it is a size, so that less of it is the same experiment, smaller.
        ours: How the library handles the statement if it has no corresponding setting.

    Raises:
        ConfigError: None or several of the four are given, or a value without its
            place.
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
            raise ConfigError("give one of 'paper', 'every', 'lost' and 'unstated'")
        if (self.paper is not None or self.every) != bool(self.place):
            raise ConfigError(
                "'place' says where 'paper' or 'every' is stated; give both"
            )
        if (self.code is None) != (not self.at):
            raise ConfigError("'at' says where 'code' is stated; give both")

    @property
    def text(self) -> str:
        """The statement in words.

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
        """Whether neither text nor code gives a value."""
        return self.paper is None and not self.every and self.code is None


class ProtocolPart(Config):
    """Settings of some trials; a later part is more special, and takes precedence.

    Attributes:
        title: What it is about.
        recipes: Short names of the recipes, patterns allowed; all if left out.
        where: Labels or settings that a trial has to have, each with its value or
            values.
        settings: What is stated, by the path of the setting, patterns allowed.
        others: What the paper or its code states and no setting of the library
            corresponds to.
    """

    title: str
    recipes: tuple[str, ...] = ()
    where: dict[str, Any] = {}
    settings: dict[str, PaperSetting] = {}
    others: dict[str, PaperSetting] = {}


class Reason(Config):
    """Why some settings are ours and not the paper's.

    Attributes:
        leaves: Paths of the settings, patterns allowed.
        why: The reason, a sentence or more.
        recipes: As in :class:`ProtocolPart`; for reasons that several recipes share.
        scales: At which scales; at all if left out.
        where: As in :class:`ProtocolPart`.
    """

    leaves: tuple[str, ...]
    why: str
    recipes: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
    where: dict[str, Any] = {}


class PaperProtocol(Config):
    """Statements of a paper and its code, and reasons for other settings in some recipes.

    Attributes:
        paper: Which text, and which code.
        parts: Settings, from the general to the special.
        ours: Reasons that several recipes share.
    """

    paper: PaperText
    parts: tuple[ProtocolPart, ...]
    ours: tuple[Reason, ...] = ()


def read_protocol(path: Path) -> PaperProtocol:
    """Return the protocol that a TOML file states.

    Raises:
        ConfigError: The file does not fit; the message names it.
    """
    try:
        return decode(PaperProtocol, load_toml(path))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def absent() -> Mapping[str, Any]:
    """Return settings of the library at the values with which they add nothing, by pattern.

    A paper that does not speak of, say, dropout has none.

    Example:
        >>> absent()["model.loops"]
        1
    """
    return _absent()


@lru_cache(maxsize=1)
def _absent() -> Mapping[str, Any]:
    return load_toml(Path(__file__).with_name("absent.toml"))


def fits(where: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Return whether labels and settings have the values that ``where`` asks for.

    Args:
        where: Value, or list of values, by name.
        values: Labels and settings, by name.

    Example:
        >>> fits({"graph": ["cycle", "grid"]}, {"graph": "grid", "model.width": 32})
        True
    """
    return all(
        name in values and equal(wanted, values[name]) for name, wanted in where.items()
    )


def equal(stated: Any, value: Any) -> bool:
    """Return whether a value is the stated value, or one of a list of stated values.

    Args:
        stated: Value or list of values in a protocol file.
        value: The value of a setting.

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
    """Return whether a pattern names a path.

    Args:
        pattern: ``*`` represents any characters, dots included.
        path: Path of a setting.
    """
    return fnmatchcase(path, pattern)


def in_words(value: Any) -> str:
    """Return a value as a page shows it.

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

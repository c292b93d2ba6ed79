"""The ledger: one line for each claim that is stated, reworded, judged or withdrawn.

Lines are only ever added, and each holds the hash of the line before, so that none can be changed
or left out without the next one telling.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from inweights.errors import DataError
from inweights.experiments.grammar.claim import Claim
from inweights.support.limits import check_file, read_bytes
from inweights.support.publish import publish_file

#: Name of the ledger in the folder of results.
LEDGER = "ledger.jsonl"
#: Root seeds of a block: block ``b`` has the seeds from ``b * BLOCK`` on, and no other's.
BLOCK = 1_000_000
#: How a verdict of before the ledger is called, where its claim's version still stands.
BY_MEAN = "by the interval of the mean, on other seeds"


class _Line(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True,
    forbid_unknown_fields=True,
):  # fmt: skip
    """What every line has."""

    date: str

    @property
    def key(self) -> str:
        """The claim's name and scale; "" for a line about all claims."""
        claim = getattr(self, "claim", None)
        name = claim.id if claim else getattr(self, "name", "")
        return f"{name} {self.scale}" if name else ""  # type: ignore[attr-defined]


class RuleChange(_Line, frozen=True, tag="rule"):
    """How all claims are judged from here on: stated once, before any number is computed."""

    says: str


class _OfClaim(_Line, frozen=True, kw_only=True):
    name: str
    scale: str
    version: int


class Earlier(_OfClaim, frozen=True, kw_only=True, tag="earlier"):
    """A verdict of a results table from before the ledger was kept: on the mean, by Student's."""

    text: str
    target: str
    verdict: str
    commit: str
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    seeds: int = 0


class Stated(_Line, frozen=True, kw_only=True, tag="stated"):
    """A claim as it will be judged.

    Attributes:
        seeds: How many its recipe states.
        block: Of seeds that it is judged on; none was used when it was stated.
        hash: Of everything that can move its number or its verdict.
    """

    claim: Claim
    scale: str
    version: int
    seeds: int
    block: int
    hash: str


class Reworded(_Line, frozen=True, kw_only=True, tag="reworded"):
    """A claim whose words or place changed, and nothing that is judged."""

    claim: Claim
    scale: str
    before: str


class JudgedLine(_OfClaim, frozen=True, kw_only=True, tag="judged"):
    """A verdict, as the scores gave it on that day.

    Attributes:
        size: Whether a number beside a one-sided target is the published one; "" without either.
        rounding: How near to an edge of the target a number lay on it, as a share of its size;
            verdicts until 27 November 2026 were compared to the last bit.
        environment: Where the last of them was run.
    """

    verdict: str
    seeds: int
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    hits: int | None = None
    size: str = ""
    rounding: float = 0.0
    environment: str = ""


class Withdrawn(_OfClaim, frozen=True, kw_only=True, tag="withdrawn"):
    """A claim that is stated no longer."""

    text: str
    verdict: str
    why: str = ""


Line = RuleChange | Earlier | Stated | Reworded | JudgedLine | Withdrawn


@dataclass
class Entry:
    """What the ledger holds of one claim at one scale.

    Attributes:
        stated: As it stands; none for a claim of before the ledger, or withdrawn.
        claim: The same, as it reads now.
        withdrawn: The line that took it back, if it stands no longer.
    """

    lines: list[Line] = field(default_factory=list)
    stated: Stated | None = None
    claim: Claim | None = None
    withdrawn: Withdrawn | None = None

    @property
    def version(self) -> int:
        """The last one; 0 for none."""
        return max((getattr(line, "version", 0) for line in self.lines), default=0)

    @property
    def verdict(self) -> JudgedLine | Earlier | None:
        """The last verdict of the last version that has one."""
        judged = [line for line in self.lines if isinstance(line, JudgedLine | Earlier)]
        return judged[-1] if judged else None

    @property
    def judged_anew(self) -> JudgedLine | None:
        """The last verdict of the version that stands."""
        last = self.verdict
        own = isinstance(last, JudgedLine) and self.stated and last.version == self.stated.version
        return last if own and isinstance(last, JudgedLine) else None

    def add(self, line: Line) -> None:
        """Take the next line in."""
        self.lines.append(line)
        if isinstance(line, Stated):
            self.stated, self.claim, self.withdrawn = line, line.claim, None
        elif isinstance(line, Reworded):
            self.claim = line.claim
        elif isinstance(line, Withdrawn):
            self.stated, self.claim, self.withdrawn = None, None, line


class Ledger:
    """All lines, and what they say of each claim."""

    def __init__(self, lines: Iterable[Line] = (), last: str = "") -> None:
        self.lines: list[Line] = []
        self.entries: dict[str, Entry] = {}
        self.last = last
        self._take(lines)

    def entry(self, name: str, scale: str) -> Entry:
        """What is known of a claim; an empty one for a claim that is not there."""
        return self.entries.get(f"{name} {scale}", Entry())

    def of_scale(self, scale: str) -> Iterator[tuple[str, Entry]]:
        """Every claim of a scale, by name, in the order in which they first appeared."""
        for key, entry in self.entries.items():
            name, _, of = key.partition(" ")
            if of == scale:
                yield name, entry

    @property
    def statements(self) -> list[Stated]:
        """Every line that states a claim."""
        return [line for line in self.lines if isinstance(line, Stated)]

    @property
    def next_block(self) -> int:
        """The first block that no claim was ever stated on."""
        return 1 + max((line.block for line in self.statements), default=0)

    def add(self, path: Path, lines: Sequence[Line]) -> None:
        """Add lines, here and to the file."""
        if not lines:
            return
        before = read_bytes(path) if path.exists() else b""
        known = before.splitlines()
        if (hashlib.sha256(known[-1]).hexdigest() if known else "") != self.last:
            raise DataError(f"{path} changed while it was used; run the same command again")
        added, last = [], self.last
        for line in lines:
            text = msgspec.json.encode({**_lean(line), "previous": last})
            last = hashlib.sha256(text).hexdigest()
            added.append(text + b"\n")
        path.parent.mkdir(parents=True, exist_ok=True)
        publish_file(path, before + b"".join(added))
        self.last = last
        self._take(lines)

    def _take(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.lines.append(line)
            if line.key:
                self.entries.setdefault(line.key, Entry()).add(line)


def read_ledger(path: Path) -> Ledger:
    """Read a ledger and check its chain; an empty one where there is no file."""
    if not path.exists():
        return Ledger()
    check_file(path)
    return ledger_of(read_bytes(path), str(path))


def ledger_of(content: bytes, where: str) -> Ledger:
    """Return the ledger that a file's content is; ``where`` is named in errors."""
    lines: list[Line] = []
    last = ""
    for number, text in enumerate(content.splitlines(), 1):
        try:
            fields: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
            previous = fields.pop("previous", None)
            lines.append(msgspec.convert(fields, Line))
        except (UnicodeDecodeError, RecursionError, msgspec.MsgspecError) as error:
            raise DataError(f"{where}, line {number}: no line of a ledger: {error}") from None
        if previous != last:
            raise DataError(
                f"{where}, line {number}: the line before was changed or removed; a ledger is only "
                "added to: restore it ('git checkout' does)"
            )
        last = hashlib.sha256(text).hexdigest()
    return Ledger(lines, last)


def _lean(line: Line) -> dict[str, Any]:
    """A line as plain values, its claim without what is empty or left out."""
    fields: dict[str, Any] = msgspec.to_builtins(line)
    if "claim" in fields:
        claim = fields["claim"]
        claim["score"] = {name: value for name, value in claim["score"].items() if value}
        edges = claim["target"].items()
        claim["target"] = {name: value for name, value in edges if value is not None}
        fields["claim"] = {name: value for name, value in claim.items() if value}
    return fields

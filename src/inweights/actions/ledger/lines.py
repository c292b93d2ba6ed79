"""Read and add to the ledger, which has a line for each change of a claim.

:func:`read_ledger` returns a :class:`Ledger`, which has an :class:`Entry` per claim. Lines are
only ever added, and each holds the hash of the line before, so that no line can be changed or
left out without the next one showing it.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from inweights.errors import DataError
from inweights.experiments.claims.claim import Claim
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
    """How all claims are judged from here on, stated before any number is computed.

    Attributes:
        date: When.
        says: The rule, in words.
    """

    says: str


class _OfClaim(_Line, frozen=True, kw_only=True):
    name: str
    scale: str
    version: int


class Earlier(_OfClaim, frozen=True, kw_only=True, tag="earlier"):
    """A verdict from before the ledger was kept: on the mean, by Student's t.

    Attributes:
        date: When.
        name: Id of the claim.
        scale: Scale of the run.
        version: Of the claim.
        text: The sentence.
        target: The target, in words.
        verdict: The verdict.
        commit: Of the results table.
        measured: Mean over the seeds.
        low: Lower end of its interval.
        high: Upper end.
        seeds: Number of seeds.
    """

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
        date: When.
        claim: The claim.
        scale: Scale at which it is judged.
        version: Of the claim.
        seeds: How many seeds its recipe states.
        block: Block of seeds that it is judged on; no seed of it was used when it was stated.
        hash: Of everything that can move its number or its verdict, but the code of ``derive``.
        code: Of that code, and of what it calls; "" of claims that were stated before it was taken.
    """

    claim: Claim
    scale: str
    version: int
    seeds: int
    block: int
    hash: str
    code: str = ""


class Reworded(_Line, frozen=True, kw_only=True, tag="reworded"):
    """A claim whose words or place changed, and nothing that is judged.

    Attributes:
        date: When.
        claim: The claim as it reads now.
        scale: Scale at which it is judged.
        before: The sentence as it was.
    """

    claim: Claim
    scale: str
    before: str


class JudgedLine(_OfClaim, frozen=True, kw_only=True, tag="judged"):
    """A verdict, as the scores gave it on that day.

    Attributes:
        date: When.
        name: Id of the claim.
        scale: Scale of the run.
        version: Of the claim.
        verdict: The verdict.
        seeds: Number of seeds.
        measured: Median of the seeds' numbers, or their mean.
        low: Lower end of its interval.
        high: Upper end.
        hits: Number of seeds that meet the target by themselves.
        size: Whether a number beside a one-sided target is the published one; "" without
            either.
        rounding: How near to an edge of the target a number lay on it, as a share of its size;
            verdicts until 27 November 2026 were compared to the last bit.
        environment: Where the last of the seeds was run.
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
    """A claim that is stated no longer.

    Attributes:
        date: When.
        name: Id of the claim.
        scale: Scale at which it was judged.
        version: Of the claim.
        text: The sentence.
        verdict: Its last verdict.
        why: The reason.
    """

    text: str
    verdict: str
    why: str = ""


Line = RuleChange | Earlier | Stated | Reworded | JudgedLine | Withdrawn


@dataclass
class Entry:
    """What the ledger holds of one claim at one scale.

    Attributes:
        lines: Every line about it, the oldest first.
        stated: The line that states it; ``None`` for a claim of before the ledger, or a
            withdrawn one.
        claim: The claim as it reads now.
        withdrawn: The line that withdrew it, if it stands no longer.
    """

    lines: list[Line] = field(default_factory=list)
    stated: Stated | None = None
    claim: Claim | None = None
    withdrawn: Withdrawn | None = None

    @property
    def version(self) -> int:
        """Its last version; 0 for none."""
        return max((getattr(line, "version", 0) for line in self.lines), default=0)

    @property
    def verdict(self) -> JudgedLine | Earlier | None:
        """The last verdict of the last version that has one; ``None`` without any."""
        judged = [line for line in self.lines if isinstance(line, JudgedLine | Earlier)]
        return judged[-1] if judged else None

    @property
    def judged_anew(self) -> JudgedLine | None:
        """The last verdict of the version that stands; ``None`` without any."""
        last = self.verdict
        own = isinstance(last, JudgedLine) and self.stated and last.version == self.stated.version
        return last if own and isinstance(last, JudgedLine) else None

    def add(self, line: Line) -> None:
        """Add the next line."""
        self.lines.append(line)
        if isinstance(line, Stated):
            self.stated, self.claim, self.withdrawn = line, line.claim, None
        elif isinstance(line, Reworded):
            self.claim = line.claim
        elif isinstance(line, Withdrawn):
            self.stated, self.claim, self.withdrawn = None, None, line


class Ledger:
    """All lines, and what they say of each claim.

    Args:
        lines: The lines, the oldest first.
        last: Hash of the last line in the file; "" without any.

    Attributes:
        lines: The lines.
        entries: What they say, by the claim's name and scale.
        last: Hash of the last line.
    """

    def __init__(self, lines: Iterable[Line] = (), last: str = "") -> None:
        self.lines: list[Line] = []
        self.entries: dict[str, Entry] = {}
        self.last = last
        self._take(lines)

    def entry(self, name: str, scale: str) -> Entry:
        """Return what is known of a claim; an empty entry for a claim that is not there.

        Args:
            name: Id of the claim.
            scale: Scale at which it is judged.
        """
        return self.entries.get(f"{name} {scale}", Entry())

    def of_scale(self, scale: str) -> Iterator[tuple[str, Entry]]:
        """Yield every claim of a scale with its name, in order of first appearance."""
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
        """The first block of seeds that no claim was ever stated on."""
        return 1 + max((line.block for line in self.statements), default=0)

    def add(self, path: Path, lines: Sequence[Line]) -> None:
        """Add lines, here and to the file.

        Args:
            path: The ledger's file.
            lines: The lines.

        Raises:
            DataError: The file changed since it was read.
            OSError: It cannot be written.
        """
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
        """Note what lines say of each claim."""
        for line in lines:
            self.lines.append(line)
            if line.key:
                self.entries.setdefault(line.key, Entry()).add(line)


def read_ledger(path: Path) -> Ledger:
    """Read a ledger and check its chain of hashes; an empty one where there is no file.

    Raises:
        DataError: The file is no ledger, or a line was changed or removed.
    """
    if not path.exists():
        return Ledger()
    check_file(path)
    return ledger_of(read_bytes(path), str(path))


def ledger_of(content: bytes, where: str) -> Ledger:
    """Return the ledger that a file's content is.

    Args:
        content: Bytes of the file.
        where: What messages call the file.

    Raises:
        DataError: It is no ledger, or a line was changed or removed.
    """
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
    """Return a line as plain values, its claim without what is empty or left out."""
    fields: dict[str, Any] = msgspec.to_builtins(line)
    if "claim" in fields:
        claim = fields["claim"]
        claim["score"] = {name: value for name, value in claim["score"].items() if value}
        edges = claim["target"].items()
        claim["target"] = {name: value for name, value in edges if value is not None}
        fields["claim"] = {name: value for name, value in claim.items() if value}
    return fields

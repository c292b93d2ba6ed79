"""Read and extend the ledger, a file whose lines are linked by hashes.

:func:`read_ledger` returns a :class:`Ledger`, with an :class:`Entry` for each claim.
Each line contains the hash of the previous line, so that any change or removal of a
line other than the last is detected. :mod:`~.lines` defines the kinds of lines.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from inweights.actions.ledger.lines import (
    Corrected,
    Earlier,
    JudgedLine,
    Line,
    Reworded,
    Stated,
    Withdrawn,
)
from inweights.errors import DataError
from inweights.experiments.claims.claim import Claim
from inweights.support.limits import check_file, read_bytes
from inweights.support.publish import publish_file


@dataclass
class Entry:
    """The ledger's lines about one claim at one scale.

    Attributes:
        lines: All lines about the claim, the oldest first.
        stated: The line that states the current version; ``None`` if the claim was
            withdrawn, or has not been stated since the ledger was introduced.
        claim: The claim in its current wording; ``None`` if ``stated`` is ``None``.
        withdrawn: The line that withdrew the claim; ``None`` if it is not withdrawn.
    """

    lines: list[Line] = field(default_factory=list)
    stated: Stated | None = None
    claim: Claim | None = None
    withdrawn: Withdrawn | None = None

    @property
    def version(self) -> int:
        """Largest version number of the claim in its lines; 0 if no line has a version.

        Stating a changed claim again creates a new version; rewording a claim does not.
        """
        return max((getattr(line, "version", 0) for line in self.lines), default=0)

    @property
    def verdict(self) -> JudgedLine | Earlier | None:
        """Line with the last verdict on any version of the claim; ``None`` if there is none.

        A verdict from before the ledger was introduced is an :class:`Earlier`.
        """
        judged = [line for line in self.lines if isinstance(line, JudgedLine | Earlier)]
        return judged[-1] if judged else None

    @property
    def judged_anew(self) -> JudgedLine | None:
        """Line with the last verdict if it is on the current version; otherwise ``None``.

        The current version is the one that was stated last and not withdrawn.
        """
        last = self.verdict
        own = (
            isinstance(last, JudgedLine)
            and self.stated
            and last.version == self.stated.version
        )
        return last if own and isinstance(last, JudgedLine) else None

    @property
    def corrected(self) -> Corrected | None:
        """The last line that corrected the protocol of the current version, or ``None``.

        A :class:`Corrected` line replaces a wrongly stated protocol (``exact``,
        ``scaled`` or ``substitute``). The value is ``None`` if there is no such line,
        or if the last one is about another version.
        """
        lines = [line for line in self.lines if isinstance(line, Corrected)]
        same = lines and self.stated and lines[-1].version == self.stated.version
        return lines[-1] if same else None

    def add(self, line: Line) -> None:
        """Append a line about the claim to this entry in memory; no file is written.

        The attributes ``stated``, ``claim`` and ``withdrawn`` are updated.

        Args:
            line: A line about the claim.
        """
        self.lines.append(line)
        if isinstance(line, Stated):
            self.stated = line
            self.claim = line.claim
            # A claim that is stated again after its withdrawal is in force again.
            self.withdrawn = None
        elif isinstance(line, Reworded | Corrected):
            self.claim = line.claim
        elif isinstance(line, Withdrawn):
            self.stated = None
            self.claim = None
            self.withdrawn = line


class Ledger:
    """All lines of a ledger, also grouped by claim.

    Args:
        lines: The lines, the oldest first; by default none.
        last: Hash of the last line in the file; empty (the default) if there are no
            lines.

    Attributes:
        lines: The lines, the oldest first.
        entries: Entries by key. A key is a claim's id and scale, separated by a space.
        last: Hash of the last line in the file; empty if there are no lines.
    """

    def __init__(self, lines: Iterable[Line] = (), last: str = "") -> None:
        """Group lines by claim and scale; ``last`` is the hash of the last line in the file."""
        self.lines: list[Line] = []
        self.entries: dict[str, Entry] = {}
        self.last = last
        self._take(lines)

    def entry(self, name: str, scale: str) -> Entry:
        """Return the entry of a claim, or an empty entry if the claim is unknown.

        Args:
            name: Id of the claim.
            scale: Scale at which it is judged: ``smoke``, ``cpu`` or ``paper``.

        Returns:
            The entry. An empty entry is new, and is not added to the ledger.
        """
        return self.entries.get(f"{name} {scale}", Entry())

    def of_scale(self, scale: str) -> Iterator[tuple[str, Entry]]:
        """Yield the id and the entry of every claim of a scale, in order of first appearance.

        Withdrawn claims are included.

        Args:
            scale: ``smoke``, ``cpu`` or ``paper``.
        """
        for key, entry in self.entries.items():
            name, _, of = key.partition(" ")
            if of == scale:
                yield name, entry

    @property
    def statements(self) -> list[Stated]:
        """All lines that state a claim, at any scale, the oldest first."""
        return [line for line in self.lines if isinstance(line, Stated)]

    @property
    def next_block(self) -> int:
        """Number of the next block of seeds: the largest block of a stated claim plus 1.

        Block ``b`` consists of the 1,000,000 root seeds that begin at 1,000,000 ``b``;
        the first block is block 1.
        """
        return 1 + max((line.block for line in self.statements), default=0)

    def add(self, path: Path, lines: Sequence[Line]) -> None:
        """Append lines to the ledger and to its file.

        Args:
            path: The file from which the ledger was read. It is created if it does not
                exist.
            lines: The lines; nothing is written if there are none.

        Raises:
            DataError: The file has been changed since this object last read or wrote
                it.
            OSError: The file cannot be read or written.
        """
        if not lines:
            return
        before = read_bytes(path) if path.exists() else b""
        known = before.splitlines()
        # If the last line differs, another process has appended lines since this object
        # read the file. They must not be overwritten.
        if (hashlib.sha256(known[-1]).hexdigest() if known else "") != self.last:
            raise DataError(
                f"{path} changed while it was used; run the same command again"
            )
        added = []
        last = self.last
        for line in lines:
            text = msgspec.json.encode({**_lean(line), "previous": last})
            last = hashlib.sha256(text).hexdigest()
            added.append(text + b"\n")
        path.parent.mkdir(parents=True, exist_ok=True)
        # The file is replaced as a whole, because an incomplete line would break the
        # chain of hashes.
        publish_file(path, before + b"".join(added))
        self.last = last
        self._take(lines)

    def _take(self, lines: Iterable[Line]) -> None:
        """Add lines to the entries of their claims."""
        for line in lines:
            self.lines.append(line)
            if line.key:
                self.entries.setdefault(line.key, Entry()).add(line)


def read_ledger(path: Path) -> Ledger:
    """Read a ledger and check its chain of hashes; if the file is missing, the ledger is empty.

    A ledger records claims. A line states a claim (before the run on which it is
    judged), records a verdict on a claim, or rewords, corrects or withdraws a claim.
    Some lines record a new rule for all claims. Each line also contains the hash of the
    previous line.

    Args:
        path: The file, such as ``results/ledger.jsonl``.

    Returns:
        The ledger: its lines, and an :class:`Entry` for each claim at each scale.

    Raises:
        DataError: The file is not a ledger or does not fit in memory, or a line was
            changed or removed. The removal of the last line is not detected, since no
            hash depends on it.
        OSError: The file cannot be read.
    """
    if not path.exists():
        return Ledger()
    check_file(path)
    return ledger_of(read_bytes(path), str(path))


def ledger_of(content: bytes, where: str) -> Ledger:
    """Parse the content of a ledger's file and check its chain of hashes.

    Args:
        content: Content of the file, as bytes: one JSON object per line.
        where: Name of the file in error messages.

    Returns:
        The ledger, as returned by :func:`read_ledger`.

    Raises:
        DataError: The content is not a ledger, or a line before the last one was
            changed or removed.
    """
    lines: list[Line] = []
    last = ""
    for number, text in enumerate(content.splitlines(), 1):
        try:
            fields: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
            previous = fields.pop("previous", None)
            lines.append(msgspec.convert(fields, Line))
        except (UnicodeDecodeError, RecursionError, msgspec.MsgspecError) as error:
            raise DataError(
                f"{where}, line {number}: not a line of a ledger: {error}"
            ) from None
        if previous != last:
            raise DataError(
                f"{where}, line {number}: the previous line was changed or removed; "
                "lines may only be appended to a ledger; restore the file, for "
                "example with 'git checkout'"
            )
        last = hashlib.sha256(text).hexdigest()
    return Ledger(lines, last)


def _lean(line: Line) -> dict[str, Any]:
    """Return a line as plain values, omitting empty fields of its claim."""
    fields: dict[str, Any] = msgspec.to_builtins(line)
    if "claim" in fields:
        claim = fields["claim"]
        # Empty values are omitted. A field that is added to claims in a later version
        # then changes neither the existing lines nor their hashes.
        claim["score"] = {
            name: value for name, value in claim["score"].items() if value
        }
        edges = claim["target"].items()
        claim["target"] = {name: value for name, value in edges if value is not None}
        fields["claim"] = {name: value for name, value in claim.items() if value}
    return fields

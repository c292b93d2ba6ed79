"""Let the disk fail during commands, which must end well or print one clear line.

``python -m tests.runs.store_faults FOLDER FAULTS [SEED] [HOW…]`` makes a store
``read-only``, ``full`` or ``gone`` (renamed) before an operation on files of ``verify
--settle`` and ``work``. The operation is drawn at random from those of an undisturbed
process, so it does not depend on a clock. The command has to end by itself, successfully
or with one line that states the problem. When the disk is restored, the same command has
to succeed, with the tables and the output of an undisturbed process. The program prints
where the faults happened, and how the commands ended. If the user is root, to whom
permissions do not apply, the command runs as nobody. On a full disk, files cannot grow
(``RLIMIT_FSIZE``).
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.forks import forked
from tests.fuzz.worker import NOBODY
from tests.runs.command_kills import COMMANDS, again, found, run

HOW = ("read-only", "full", "gone")
#: Message of a command whose disk is full.
PIPE = [0, 0]
#: The folder of the store of each command.
STORES = {"verify": "runs", "work": "plan"}


def read_only(store: Path) -> None:
    """Make a folder and its contents read-only for all users except root."""
    for folder in (store, *(path for path in store.rglob("*") if path.is_dir())):
        folder.chmod(0o555)
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def writable(store: Path) -> None:
    for folder in (store, *(path for path in store.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


def full(_store: Path) -> None:
    """Forbid files to grow, and redirect the output to where it can be written."""
    for stream in (1, 2):
        os.dup2(PIPE[1], stream)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def gone(store: Path) -> None:
    store.rename(store.with_name("elsewhere"))


def back(store: Path) -> None:
    """Undo the renaming, and remove what was created in the folder's place."""
    shutil.rmtree(store, ignore_errors=True)
    store.with_name("elsewhere").rename(store)


FAULTS: dict[str, tuple[Callable[[Path], None], Callable[[Path], None]]] = {
    "read-only": (read_only, writable),
    "full": (full, lambda _: None),
    "gone": (gone, back),
}


def trial(name: str, how: str, here: Path, at: int) -> str:
    """Make the disk of a command fail, restore it, and return how the command ended."""
    fail, mend = FAULTS[how]
    store = here / STORES[name]
    log = here.with_name(f"{here.name}.log")
    words = COMMANDS[name][1]
    PIPE[:] = os.pipe()
    code = forked(partial(run, words, here, at, True, partial(fail, store), log))
    os.close(PIPE[1])
    with open(PIPE[0], encoding="utf-8") as pipe:  # noqa: PTH123
        said = (here / "err").read_text() + pipe.read()
    told = [line for line in said.splitlines() if line.startswith("inweights: ")]
    assert "Traceback" not in said, said
    assert code in (0, 1, 2), (code, said)
    assert len(told) == (code != 0), (code, said)
    if log.exists():
        mend(store)
    again(words, name, here)
    return "went on" if not code else told[0].replace(str(here), "…")


def _shape(line: str) -> str:
    """Return a line without the parts that vary between calls."""
    return re.sub(r"[0-9a-f]{6,}", "*", line)


def main(root: str, faults: str, seed: str = "0", *hows: str) -> None:
    for name in STORES:
        home = Path(root) / name
        base, whole = home / "base", home / "whole"
        home.mkdir(parents=True)
        assert forked(partial(COMMANDS[name][0], base)) == 0, (base / "err").read_text()
        shutil.copytree(base, whole)
        again(COMMANDS[name][1], name, whole)
        count, expected = json.loads((whole / "log").read_text())[1], found(whole)
        for how in hows or HOW:
            draw, fell, ends = (
                random.Random(f"{name} {how} {seed}"),
                Counter[str](),
                Counter[str](),
            )
            for number in range(int(faults)):
                here = home / f"{how}{number}"
                shutil.copytree(base, here)
                ends[_shape(trial(name, how, here, draw.randint(1, count)))] += 1
                fell[here.with_name(f"{here.name}.log").read_text()] += 1
                mine = found(here)
                assert mine == expected, (
                    name,
                    how,
                    number,
                    mine.keys() ^ expected.keys(),
                )
                shutil.rmtree(here)
            sys.stdout.write(f"{faults} times {how} during {name}, 0 differences\n")
            for kind, counts in (("fell in", fell), ("ended:", ends)):
                for what, times in sorted(counts.items()):
                    sys.stdout.write(f"{times:4} {kind} {what}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

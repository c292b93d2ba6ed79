"""Edit stored files one at a time, and check that each edit is noticed or harmless.

``python tests/runs/edits.py FOLDER EDITS [SEED] [SUBJECT…]`` makes a complete run, a
store, stored weights, a training run with a checkpoint, and a fine-tuning run with its
state. It then changes one file of one of them, makes the library read or continue it, and
compares the results with those without edits. It prints the numbers of edits by outcome.
An edit is *refused* with one line, the damaged part is *made again*, or the edit is
*harmless*: the results are bitwise equal. Anything else is an error. Processes are forked,
so that torch is imported once; this one never uses polars, whose threads would not
survive forking.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
from tests.experiments.small import Trainings, recipe, trainings
from tests.forks import end, forked, start
from tests.runs.kills import folder_of, publish
from tests.runs.tiny import RECIPE

from inweights.errors import InweightsError
from inweights.experiments.engine.engine import execute
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.outcome_files import load
from inweights.experiments.grammar.recipe import Recipe
from inweights.lm import FineTune
from inweights.lm.model.data import Example
from inweights.lm.tuning.job import finetune_to
from inweights.runs import RunStore
from inweights.training.checkpoint import StateFile

#: Exit codes after reading: the same results, an error of one line, or other results.
SAME, REFUSED, OTHER = 0, 17, 18
assert StateFile.__init__.__kwdefaults__
StateFile.__init__.__kwdefaults__["every_seconds"] = 0.02
TRAINED = recipe("tests/trainings", Trainings(steps=300), trainings, 2)
KEPT = recipe("tests/kept", Trainings(steps=30), trainings, 2)
PLACES = {"Rome": "Italy", "Oslo": "Norway", "Kyiv": "Ukraine", "Lima": "Peru"}
EXAMPLES = [Example(f"{name} is in", f" {place}.") for name, place in PLACES.items()]
TUNE = FineTune(method="full", rate=1e-2, epochs=2, batch_tokens=16)


def flip(rng: random.Random, file: Path, _: list[Path]) -> None:
    data = bytearray(file.read_bytes()) or bytearray(1)
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)


def truncate(rng: random.Random, file: Path, _: list[Path]) -> None:
    os.truncate(file, rng.randrange(max(1, file.stat().st_size)))


def lengthen(rng: random.Random, file: Path, _: list[Path]) -> None:
    with file.open("ab") as opened:
        opened.write(rng.randbytes(rng.choice((1, 100, 5000))))


def overwrite(rng: random.Random, file: Path, _: list[Path]) -> None:
    data = bytearray(file.read_bytes())
    at = rng.randrange(len(data) + 1)
    data[at : at + 16] = rng.randbytes(16)
    file.write_bytes(data)


def empty(_: random.Random, file: Path, __: list[Path]) -> None:
    file.write_bytes(b"")


def remove(_: random.Random, file: Path, __: list[Path]) -> None:
    file.unlink()


def exchange(rng: random.Random, file: Path, files: list[Path]) -> None:
    """Replace a file with another valid file of the same kind."""
    others = [one for one in files if one.suffix == file.suffix and one != file]
    file.write_bytes(rng.choice(others).read_bytes() if others else b"{}")


def link(_: random.Random, file: Path, __: list[Path]) -> None:
    elsewhere = file.parents[1] / f"{file.name}.elsewhere"
    shutil.move(file, elsewhere)
    flip(random.Random(1), elsewhere, [])
    file.symlink_to(elsewhere)


def add(_: random.Random, file: Path, __: list[Path]) -> None:
    shutil.copy(file, file.with_name(f"more{file.suffix}"))


EDITS = (flip, flip, truncate, lengthen, overwrite, empty, remove, exchange, link, add)


class Subject:
    """A stored object: how it is made, which of its files are edited, and how it is read."""

    def __init__(
        self,
        make: Callable[[Path], object],
        pattern: str,
        read: Callable[[Path], dict[str, Any]],
    ) -> None:
        self.make, self.pattern, self.read = make, pattern, read

    def files(self, here: Path) -> list[Path]:
        return sorted(path for path in here.glob(self.pattern) if path.is_file())


def sealed(here: Path) -> None:
    execute(RECIPE, "smoke", store=RunStore(here), publish=publish)


def unsealed(here: Path) -> None:
    sealed(here)
    shutil.rmtree(folder_of(RECIPE, here).path)


def kept(here: Path) -> None:
    execute(
        KEPT,
        "smoke",
        store=RunStore(here),
        execution=ExecutionOptions(keep_models=True),
    )


def interrupted(here: Path) -> None:
    """Make a training run that was killed after its first checkpoint."""
    child = start(lambda: train_until_a_checkpoint(here))
    assert end(child) == -signal.SIGKILL, "it ended before it had a checkpoint"


def train_until_a_checkpoint(here: Path) -> None:
    """Train, and kill this process as soon as it has written a checkpoint."""
    write = StateFile.write

    def write_and_die(file: StateFile[Any], state: Any) -> None:
        write(file, state)
        os.kill(os.getpid(), signal.SIGKILL)

    StateFile.write = write_and_die  # type: ignore[assignment, method-assign]
    execute(TRAINED, "smoke", store=RunStore(here))


def halted(here: Path) -> None:
    """Make a fine-tuning run that was stopped after some updates."""

    def halt(step: int, _total: int, _what: str) -> None:
        if step == 2:
            signal.raise_signal(signal.SIGTERM)

    try:
        finetune_to(here / "model", "@tiny", EXAMPLES, TUNE, progress=halt)
    except KeyboardInterrupt:
        return


def loaded(here: Path) -> dict[str, Any]:
    """Read a complete run, and list the runs, which must not fail."""
    assert all(found.state for found in RunStore(here))
    outcome = load(RECIPE, folder_of(RECIPE, here))
    return dict(outcome.tables) | {"claims": outcome.claims}


def ran(here: Path, recipe_: Recipe = RECIPE) -> dict[str, Any]:
    return dict(execute(recipe_, "smoke", store=RunStore(here), publish=publish).tables)


def weights(here: Path) -> dict[str, Any]:
    outcome = load(KEPT, folder_of(KEPT, here))
    return {
        f"{number}.{name}": value.tolist()
        for number, one in enumerate(outcome.models())
        for name, value in one.model.state_dict().items()
    }


def tuned(here: Path) -> dict[str, Any]:
    finetune_to(here / "model", "@tiny", EXAMPLES, TUNE)
    return {"weights": (here / "model" / "model.safetensors").read_bytes()}


SUBJECTS = {
    "a complete run, read": Subject(sealed, "tests/tiny/*/**/*", loaded),
    "a complete run, run again": Subject(sealed, "tests/tiny/*/**/*", ran),
    "stored tables": Subject(unsealed, "store/??/*/*", ran),
    "kept weights": Subject(kept, "store/??/*/model-*", weights),
    "a checkpoint": Subject(
        interrupted, "store/unfinished/*/*", partial(ran, recipe_=TRAINED)
    ),
    "a folder at work": Subject(
        interrupted, "tests/trainings/*.work/*", partial(ran, recipe_=TRAINED)
    ),
    "a fine-tuning's state": Subject(halted, "model.state", tuned),
}


def fingerprint(found: dict[str, Any]) -> str:
    """Return a hash of results, which depends on every bit of tables."""
    seen = hashlib.sha256()
    for name, value in sorted(found.items()):
        buffer = BytesIO()
        if isinstance(value, pl.DataFrame):
            value.write_ipc(buffer)
        seen.update(f"{name}: {buffer.getvalue() or value!r}".encode())
    return seen.hexdigest()


def look(subject: Subject, here: Path, expected: Path) -> None:
    """Read the edited object, and exit with the outcome."""
    try:
        found = fingerprint(subject.read(here))
    except InweightsError as error:
        sys.stderr.write(f"{error}\n")
        os._exit(REFUSED if "\n" not in str(error) else 1)
    if not expected.exists():
        expected.write_text(found)
    os._exit(SAME if found == expected.read_text() else OTHER)


def edited(
    subject: Subject, rng: random.Random, base: Path, here: Path, expected: Path
) -> tuple[str, str]:
    """Edit one file of a copy, read it, and return the edit and its outcome."""
    shutil.copytree(base, here, symlinks=True)
    files = subject.files(here)
    file, edit = rng.choice(files), rng.choice(EDITS)
    edit(rng, file, files)
    left = file.read_bytes() if file.exists() else None
    what = f"{edit.__name__} {file.relative_to(here)}"
    code = forked(lambda: look(subject, here, expected))
    again = file.exists() and file.read_bytes() != left
    shutil.rmtree(here)
    ends = {SAME: "made again" if again else "harmless", REFUSED: "refused"}
    assert code in ends, (
        f"{what}: {'other results' if code == OTHER else 'a traceback'}"
    )
    return what, ends[code]


def main(root: str, edits: str, seed: str = "0", *subjects: str) -> None:
    home, rng = Path(root), random.Random(seed)
    home.mkdir(parents=True, exist_ok=True)
    counts: Counter[tuple[str, str]] = Counter()
    # Reading takes a tenth of the time of continuing, so objects that are read are edited more
    # often.
    *read, checkpoint, work, state = SUBJECTS
    names = subjects or [*read, checkpoint, *read, work, *read, state, *read]
    for number in range(int(edits)):
        name = names[number % len(names)]
        subject = SUBJECTS[name]
        try:
            base, expected = home / subject.make.__name__, home / f"{name}.expected"
            if not base.exists():
                assert forked(partial(subject.make, base)) == 0
            if not expected.exists():
                shutil.copytree(base, home / "whole")
                assert forked(partial(look, subject, home / "whole", expected)) == SAME
                shutil.rmtree(home / "whole")
            what, how = edited(subject, rng, base, home / str(number), expected)
        except AssertionError as error:
            raise SystemExit(f"edit {number} of {name}: {error}") from None
        counts[name, how] += 1
        sys.stderr.write(f"{number} {name}: {what}: {how}\n")
    sys.stdout.write(f"{sum(counts.values())}\n")
    for (name, how), count in sorted(counts.items()):
        sys.stdout.write(f"{count:4} {name}: {how}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

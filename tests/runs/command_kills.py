"""Kill commands while they work, and check that the same commands then end as usual.

``python -m tests.runs.command_kills FOLDER KILLS [SEED] [COMMAND…]`` kills ``verify
--settle``, ``predict --by training``, ``plan``, ``work`` and ``status``, each this many
times, one to three times per trial. A kill happens before a call that is drawn at random
from all calls of an undisturbed process, half of them from its operations on files. Thus
it does not depend on a clock, and fast and slow machines are killed at the same calls.
Afterwards the same command has to succeed, with the tables and the output of an
undisturbed process, and without leaving temporary files. The program prints where the
kills happened, and how many incomplete files are left in stores. Processes are forked;
this one never uses polars, whose threads would not survive forking.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any

import torch._dynamo  # noqa: F401 (a training imports it late: forks need not)
from tests.experiments.small import Trainings, recipe, trainings
from tests.forks import forked

from inweights import cli
from inweights.actions.plans import write_plan
from inweights.audit.prediction import by_training
from inweights.experiments import Paper, share
from inweights.experiments.studies import settle
from inweights.recipes import register
from inweights.training.checkpoint import StateFile

NAME, PLUGIN = "tests/undecided", "tests.experiments.small"
SOURCE = f"{os.sep}inweights{os.sep}"
#: Operations that change files: system functions, and methods of open files.
OPERATIONS = {"replace", "rename", "unlink", "rmdir", "mkdir", "link", "write", "fsync"}
FACTS = "ann,born_in,rome\nbob,born_in,oslo\nrome,country,italy\noslo,country,norway\n"
PAPER = Paper("tests", "Tests", claims_of="ours")
stating = PAPER.stating("undecided", "nowhere")
identity = share("accuracy", "accuracy", role="identity")
#: A claim that is undecided with four seeds, so that seeds are added.
RECIPE = PAPER.recipe(
    "undecided",
    title="Undecided",
    place="nowhere",
    summary="Trains a little.",
    scales={"cpu": Trainings(kinds=1, steps=5, rate=2.0)},
    seeds={"cpu": 4},
    plan=trainings,
    claims=(stating("some", "Most are right.", identity >= 0.85),),
)
PLANNED = recipe("tests/planned", Trainings(kinds=3, steps=20), trainings, 2)


@cache
def prepare() -> None:
    """Register the recipe and make checkpoints frequent in a process that will be killed."""
    register(RECIPE)
    assert StateFile.__init__.__kwdefaults__
    StateFile.__init__.__kwdefaults__["every_seconds"] = (
        0.0  # a checkpoint whenever the time is checked
    )


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Fault:
    """Count the calls of this process within the library, and act before one of them.

    Args:
        at: Index of the call, or of the operation on files; none if 0.
        files: Whether operations on files are counted.
        log: File for the number of calls, or for the place of the fault.
        act: Function that is called at the fault; by default it kills the process.
    """

    def __init__(
        self, at: int, files: bool, log: Path, act: Callable[[], None] = kill
    ) -> None:
        self.at, self.files, self.log, self.act = at, files, log, act
        self.counts = [0, 0]
        self.place = ""

    def __call__(self, frame: FrameType, event: str, about: Any) -> None:
        if event == "call" and SOURCE in frame.f_code.co_filename:
            module = frame.f_code.co_filename.partition(SOURCE)[2].removesuffix(".py")
            self.place = module
            self.reach(False, module)
        elif event == "c_call" and about.__name__ in OPERATIONS and _of_files(about):
            self.reach(True, f"{self.place}, before {about.__name__}")

    def reach(self, files: bool, what: str) -> None:
        self.counts[files] += 1
        if files == self.files and self.counts[files] == self.at:
            sys.setprofile(None)
            self.log.write_text(what)
            self.act()


def _of_files(function: Any) -> bool:
    """Return whether a built-in function is one of ``posix`` or of a file on the disk."""
    owner = function.__self__
    in_memory = isinstance(owner, (io.StringIO, io.BytesIO))
    return (function.__module__ or type(owner).__module__) in (
        "posix",
        "_io",
    ) and not in_memory


def run(
    words: list[str],
    here: Path,
    at: int = 0,
    files: bool = False,
    act: Callable[[], None] = kill,
    log: Path | None = None,
) -> None:
    """Run a command in a folder, and return its number of calls or the place of the fault."""
    prepare()
    here.mkdir(parents=True, exist_ok=True)
    os.chdir(here)
    # Its input is in its folder, since the command's new user may not read the home.
    os.environ |= {
        name: str(here / name.partition("_")[2].lower())
        for name in ("INWEIGHTS_RUNS", "INWEIGHTS_RESULTS")
    }
    with (here / "out").open("w") as out, (here / "err").open("w") as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        fault = Fault(at, files, log or here / "log", act)
        sys.setprofile(fault)
        code = cli.main(words)
        sys.setprofile(None)
        sys.stdout.flush()
    if not at:
        (here / "log").write_text(json.dumps(fault.counts))
    os._exit(code)


def first_run(here: Path) -> None:
    run(["run", NAME, "--jobs", "1"], here)


def facts(here: Path) -> None:
    here.mkdir(parents=True)
    (here / "facts.csv").write_text(FACTS)


def planned(here: Path) -> None:
    write_plan(
        PLANNED.plan(PLANNED.scales["cpu"]),
        range(2),
        str(here / "plan"),
        plugins=[PLUGIN],
    )


def nothing(here: Path) -> None:
    here.mkdir(parents=True)


WORK = ["work", "plan", "--lease", "1", "--json"]
PREDICT = [
    "predict",
    "facts.csv",
    "--by",
    "training",
    "--replicas",
    "2",
    "--page",
    "p.html",
]
#: Preparation of the folder, and the command.
COMMANDS: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "verify": (first_run, ["verify", "undecided", "--settle", "--jobs", "1", "--json"]),
    "predict": (facts, [*PREDICT, "--json"]),
    "plan": (nothing, ["plan", NAME, "--out", "plan", "--plugin", PLUGIN, "--json"]),
    "work": (planned, WORK),
    "status": (planned, ["status", "plan", "--json"]),
}


def found(here: Path) -> dict[str, str]:
    """Return a command's output, tables and plans, after checking that nothing else is left."""
    said = json.loads((here / "out").read_text())
    over = [p.name for p in here.rglob("*") if p.suffix in (".work", ".old")]
    over += [p.name for p in here.rglob("unfinished/*/*")]
    # An incomplete file, which nothing reads, may be left in a store or a plan.
    over += [p.name for p in here.glob("runs/tests/**/*.partial")]
    assert not over, over
    kept = [
        p
        for p in here.rglob("*")
        if p.suffix == ".parquet" or p.is_relative_to(here / "plan")
    ]
    tables = {
        str(path.relative_to(here)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in kept
        if path.is_file()
        and path.suffix != ".partial"
        and not {"leases", "locks"} & set(path.relative_to(here).parts)
    }
    return {"said": json.dumps(_lasting(said), sort_keys=True)} | tables


def _lasting(said: Any) -> Any:
    """Return the reproducible part of an output, without times, paths and leases."""
    if isinstance(said, dict):
        gone = ("seconds", "page", "place", "folder", "command", "collect", "workers")
        return {k: _lasting(v) for k, v in said.items() if k not in gone}
    return [_lasting(one) for one in said] if isinstance(said, list) else said


def again(words: list[str], name: str, here: Path) -> str:
    """Run the command once more without a fault, and return its output if it is refused."""
    code = forked(partial(run, words, here))
    said = (here / "err").read_text()
    if code == 2 and name == "plan" and "already contains a plan" in said:
        return said  # the kill happened after the plan was complete
    assert code == 0, f"{name} ended with {code}: {said}"
    return ""


def trial(
    name: str, here: Path, base: Path, counts: list[int], draw: random.Random
) -> list[str]:
    """Kill a command one to three times, resume it, and return where it was killed."""
    words, fell = COMMANDS[name][1], []
    shutil.copytree(base, here)
    for _ in range(draw.choice((1, 1, 2, 3))):
        files = bool(counts[1]) and draw.random() < 0.5
        at = draw.randint(1, counts[files])
        code = forked(partial(run, words, here, at, files))
        if code == -signal.SIGKILL:
            fell.append((here / "log").read_text())
        elif code:
            said = (here / "err").read_text()
            assert (name, "already" in said) == ("plan", True), said
    again(words, name, here)
    return fell


def main(root: str, kills: str, seed: str = "0", *names: str) -> None:
    share_of = partial(by_training.replicas_for, share=0.01)
    vars(by_training)["replicas_for"] = share_of
    vars(settle)["MOST"] = 4
    for name in names or COMMANDS:
        make, words = COMMANDS[name]
        home = Path(root) / name
        base, whole = home / "base", home / "whole"
        home.mkdir(parents=True)
        assert forked(partial(make, base)) == 0, (base / "err").read_text()
        shutil.copytree(base, whole)
        again(words, name, whole)
        counts, expected = json.loads((whole / "log").read_text()), found(whole)
        draw, fell, trials, parts = (
            random.Random(f"{name} {seed}"),
            Counter[str](),
            0,
            0,
        )
        while fell.total() < int(kills):
            trials += 1
            here = home / str(trials)
            fell.update(trial(name, here, base, counts, draw))
            if "contains a plan" in (here / "err").read_text():
                assert forked(partial(run, ["status", "plan", "--json"], here)) == 0
            mine = found(here)
            assert mine == expected, (
                name,
                trials,
                {k for k in mine if mine[k] != expected.get(k)},
            )
            parts += len(list(here.rglob("*.partial")))
            shutil.rmtree(here)
        told = f"{trials} trials, 0 differences, {parts} parts of files left"
        sys.stdout.write(f"{fell.total()} kills of {name} in {told}\n")
        for where, count in sorted(fell.items()):
            sys.stdout.write(f"{count:4} {where}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What the command line prints of plans that several machines work on."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING

import msgspec

from inweights.cli.console.base import out, print_json, say, table

if TYPE_CHECKING:
    from inweights.laboratory.plans import Planned, Status


def status(planned: Planned, now: Status, *, json: bool) -> None:
    """Print how far a plan is, and what to do next.

    What is to be pasted is a command of this library, whatever the plan's files say.
    """
    collect = shlex.join(["inweights", *planned.about.collect[1:]])
    work = shlex.join(["inweights", "work", planned.place])
    if json:
        about = {"plan": planned.place, "store": planned.job.store, "collect": collect}
        failures = {run: msgspec.to_builtins(why) for run, why in now.failures.items()}
        print_json({**about, **asdict(now), "waiting": now.waiting, "failures": failures})
        return
    listed = table("tasks", "done", "in work", "waiting", "failed", "runs stored")
    counts = (now.tasks, now.done, now.held, now.waiting, now.failed)
    listed.add_row(*map(str, counts), "{} of {}".format(*now.runs))
    out.print(listed)
    for host, number in now.workers.items():
        say((f"{host} holds {number}", "dim"))
    for why in dict.fromkeys((f.title, f.message) for f in now.failures.values()):
        say(("✗ ", "red"), f"{why[0]}: {why[1]}", soft_wrap=True)
    if now.failed:
        out.print(f"to try failed tasks again:\n{work} --retry", soft_wrap=True)
    if now.waiting:
        out.print(f"on any number of machines:\n{work}", soft_wrap=True)
    elif now.done == now.tasks:
        out.print(f"all tasks are done; collect the results with\n{collect}", soft_wrap=True)

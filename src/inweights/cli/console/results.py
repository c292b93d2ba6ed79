"""Print the outcome of a run, a list of runs, a comparison of two, and a plan's progress."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from rich.text import Text

from inweights.cli.console.base import WIDTH, cut, out, parts_of, print_json, say, table
from inweights.cli.console.claims import COLOURS, MARKS, claims
from inweights.config import to_plain
from inweights.runs import about, when, written
from inweights.support.progress import plural

if TYPE_CHECKING:
    from inweights.actions.compared import Comparison
    from inweights.actions.plans.files import Planned, Status
    from inweights.experiments.claims.claim_result import ClaimResult
    from inweights.experiments.engine.outcome import Outcome
    from inweights.runs import RunFolder

#: Largest number of runs that are listed without ``full``.
_LISTED = 24


def runs(folders: Sequence[RunFolder], *, json: bool, full: bool = False) -> None:
    """Print run folders, with their changed settings and dates.

    Args:
        folders: The folders, newest first.
        json: If true, print all folders as JSON instead of text.
        full: If true, list all folders with all changed settings. By default only the
            first 24 folders are listed.
    """
    rows = []
    for folder in folders if json or full else folders[:_LISTED]:
        said = about(folder)
        rows.append(
            {
                "recipe": folder.config.get("recipe", "?"),
                "scale": folder.config.get("scale", "?"),
                "seeds": len(folder.seeds),
                "hash": folder.path.name,
                "state": folder.state,
                "when": when(folder),
                "changed": list(said.overrides),
                "claims": folder.claims,
                "chosen": written(folder.seeds),
                "seconds": said.seconds,
                "plugins": list(said.plugins),
                # The files of an unfinished run are in its working folder.
                "folder": str(folder.path if folder.complete else folder.work),
            }
        )
    if json:
        print_json(rows)
        return
    if not rows:
        out.print("no runs yet; try 'inweights demo' (one minute)")
        return
    listed = table("hash", "recipe", "scale", "n", "when")
    for row in rows:
        recipe = cut(str(row["recipe"]), 30)
        cells = (row["hash"], recipe, row["scale"], row["seeds"], row["when"])
        listed.add_row(*(cut(str(cell), 30) for cell in cells))
        changes = [*row["changed"], *(f"from {p}" for p in row["plugins"])]
        if row["claims"]:
            changes.insert(0, f"more seeds for {' and '.join(row['claims'])}")
        if row["state"] != "complete":
            changes.insert(0, str(row["state"]))
        if changes:
            text = ", ".join(changes)
            listed.add_row("", Text(text if full else cut(text, 30), style="dim"))
    out.print(listed)
    if len(rows) < len(folders):
        say((f"… and {len(folders) - len(rows)} older (--full)", "dim"))
    say(("inweights show HASH; the first letters are enough", "dim"))


def outcome(done: Outcome, *, json: bool, full: bool = False) -> None:
    """Print the outcome of a run: claims, warnings, and the path of its page.

    Args:
        done: The outcome.
        json: If true, print JSON instead of text, with all fields of the claims.
        full: If true, the text also shows intervals, seeds and the case that determines
            each verdict.
    """
    page = done.folder.path / "page.html"
    if json:
        print_json(
            {
                "recipe": done.recipe.name,
                **parts_of(done, "scale seeds seconds cached"),
                "folder": str(done.folder.path),
                "page": str(page),
                "claims": list(map(to_plain, done.claims)),
                "cautions": list(done.cautions),
            }
        )
        return
    say((done.heading, "bold"))
    seeds = plural(len(done.seeds), "seed")
    words = f"{done.recipe.name}, {done.scale} scale, {seeds}, {done.seconds:.0f} s"
    say((f"{words}{', read back' if done.cached else ''}\n", "dim"))
    if done.claims:
        claims(done.claims, full=full)
        out.print()
    for text in done.cautions:
        say((f"Caution: {text}\n", "yellow"))
    out.print(f"page  {page.resolve().as_uri()}", soft_wrap=True)


def compared(both: Comparison, *, json: bool) -> None:
    """Print two runs side by side: settings that differ, and all claims.

    Args:
        both: The comparison.
        json: If true, print JSON instead of text.
    """
    if json:
        print_json(
            {
                "runs": [run.folder.path.name for run in both.runs],
                "settings": {key: list(pair) for key, pair in both.settings.items()},
                "claims": {
                    name: _plain_pair(pair) for name, pair in both.claims.items()
                },
            }
        )
        return
    names = [run.folder.path.name for run in both.runs]
    if both.settings:
        listed = table("different setting", *names)
        for key, pair in both.settings.items():
            shown = (
                "–" if one is None else msgspec.json.encode(one).decode()
                for one in pair
            )
            listed.add_row(cut(key, 34), *(cut(one, 20) for one in shown))
        out.print(listed)
    else:
        out.print("no different settings")
    out.print()
    listed = table("claim", *names)
    changed = 0
    for name, pair in both.claims.items():
        first, second = pair
        differs = (first and first.verdict) != (second and second.verdict)
        changed += differs
        style = "bold" if differs else ""
        listed.add_row(
            Text(cut(name.rpartition("/")[2], WIDTH - 46), style=style),
            *map(_scored, pair),
        )
    out.print(listed)
    told = (
        f"{changed} of {len(both.claims)} verdicts differ"
        if both.claims
        else "no claims"
    )
    say((told, "dim"))


def status(planned: Planned, now: Status, *, json: bool) -> None:
    """Print the progress of a plan, and the commands to run next.

    The printed command always begins with ``inweights``, even if the files of the plan
    state a different program.

    Args:
        planned: The plan. The commands that start workers and collect the results are
            printed.
        now: Progress of the plan: numbers of tasks, workers and failures.
        json: If true, print JSON instead of text.
    """
    # Quoted, so that the printed command can be pasted into a shell.
    collect = shlex.join(["inweights", *planned.about.collect[1:]])
    work = shlex.join(["inweights", "work", planned.place])
    if json:
        about = {"plan": planned.place, "store": planned.job.store, "collect": collect}
        failures = {run: msgspec.to_builtins(why) for run, why in now.failures.items()}
        print_json(
            {
                **about,
                **asdict(now),
                "waiting": now.waiting,
                "failures": failures,
            }
        )
        return
    listed = table("tasks", "done", "in work", "waiting", "failed", "runs stored")
    counts = (now.tasks, now.done, now.held, now.waiting, now.failed)
    listed.add_row(*map(str, counts), "{} of {}".format(*now.runs))
    out.print(listed)
    for host, number in now.workers.items():
        say((f"{host} holds {number}", "dim"))
    # Each reason is printed once, since one mistake usually makes many tasks fail.
    for why in dict.fromkeys((f.title, f.message) for f in now.failures.values()):
        say(("✗ ", "red"), f"{why[0]}: {why[1]}", soft_wrap=True)
    if now.failed:
        out.print(f"to try failed tasks again:\n{work} --retry", soft_wrap=True)
    if now.waiting:
        out.print(f"on any number of machines:\n{work}", soft_wrap=True)
    elif now.done == now.tasks:
        out.print(
            f"all tasks are done; collect the results with\n{collect}", soft_wrap=True
        )


def exported(files: Sequence[Path], *, json: bool) -> None:
    """Print the paths of files that were written.

    Args:
        files: Paths of the files. Paths below the current folder are printed relative
            to it.
        json: If true, print a JSON list of the paths as given, instead of one path per
            line.
    """
    if json:
        print_json(list(map(str, files)))
        return
    for file in files:
        out.print(_short(file), soft_wrap=True)


def _plain_pair(pair: Sequence[ClaimResult | None]) -> list[dict[str, Any] | None]:
    return [None if claim is None else to_plain(claim) for claim in pair]


def _scored(claim: ClaimResult | None) -> Text:
    if claim is None:
        return Text("–", style="dim")
    text = Text(f"{MARKS[claim.verdict]} ", style=COLOURS[claim.verdict])
    if claim.measured is not None:
        text.append(f"{claim.measured:.3g}", style="not dim")
        if claim.low is not None and claim.high is not None:
            text.append(f" ({claim.low:.2g} to {claim.high:.2g})", style="dim")
    return text


def _short(path: Path) -> str:
    """Return a path relative to the current folder if it is below it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative

"""Run mutated commands and files; check exit codes, messages, time and memory.

``python -m tests.fuzz.campaign [--commands N] [--files N] [--seed S] [--jobs J] [--log
FILE]`` prints the failures and the number of cases by exit code; ``make fuzz`` runs
10,000 of each kind. A case depends only on the seed and its number: ``--only command:17``
runs one case again and prints its result; ``--only file:2000..4000`` runs a range.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tests.forks import forked
from tests.fuzz.mutate import NUMBERS, mutated_command, mutated_file
from tests.fuzz.worker import (
    ENVIRONMENT,
    MEGABYTES,
    SECONDS,
    Case,
    Place,
    answers,
    preload,
)

#: Share of the files that are replaced by a pipe without a writer.
PIPES = 0.01
#: Seconds between two lines of progress.
_LINE = 60.0


def command_cases(root: Path, seed: int, count: int) -> Iterator[Case]:
    """Yield mutated commands."""
    from tests.fuzz import samples

    known = samples.commands()
    pool = sorted({word for words in known for word in words} | set(NUMBERS))
    pool += [p.relative_to(root).as_posix() for p in sorted(root.rglob("*"))][:200]
    pool += [
        "/dev/null",
        "/dev/zero",
        "/",
        "",
        "-",
        "--",
        "--help",
        "--debug",
        "--max-memory",
        "a" * 300,
    ]
    for number in range(count):
        rng = random.Random(f"command {seed} {number}")
        words = mutated_command(rng, rng.choice(known), pool)
        yield Case([word for word in words if word != "--debug"], number=number)


def file_cases(
    root: Path, seed: int, count: int, baselines: dict[str, str]
) -> Iterator[Case]:
    """Yield commands that read a mutated file, with the output expected of a stored run."""
    from tests.fuzz import samples

    known = samples.files(root)
    kinds = sorted({name.partition("/")[0] for name, _ in known})
    groups = [
        [one for one in known if one[0].partition("/")[0] == kind] for kind in kinds
    ]
    for number in range(count):
        rng = random.Random(f"file {seed} {number}")
        name, readers = rng.choice(rng.choice(groups))
        words = [word.replace("FILE", name) for word in rng.choice(readers)]
        data: bytes | None = mutated_file(rng, root / name)
        if rng.random() < PIPES:
            data = None
        forget = "runs/tests/tiny" if name.startswith("runs/store") else ""
        expected = ""
        if name.startswith("runs/") and data != (root / name).read_bytes():
            expected = baselines.get(" ".join(words), "")
        yield Case(words, {name: data}, forget, expected, "file", number)


def wrong(case: Case, answer: dict[str, Any]) -> str:
    """Return what is wrong with the result of a case; an empty string if nothing is."""
    if answer["error"]:
        lines = answer["error"].strip().splitlines()
        place = [line.strip() for line in lines if "/inweights/" in line][-1:]
        return f"{lines[-1][:200]}  {' '.join(place)}"
    if answer["seconds"] > SECONDS:
        return f"takes {answer['seconds']:.1f} s"
    if answer["megabytes"] > MEGABYTES:
        return f"takes {answer['megabytes']:.0f} MB"
    told = [
        line for line in answer["err"].splitlines() if line.startswith("inweights: ")
    ]
    if "Traceback" in answer["err"]:
        return "a traceback on the error stream"
    if answer["code"] == 2 and len(told) != 1:
        return f"code 2 and {len(told)} lines that say why"
    if answer["code"] == 1 and "--strict" not in case.words:
        return f"code 1: {' '.join(told)[:200]}"
    if answer["code"] not in (0, 1, 2):
        return f"code {answer['code']}"
    if answer["code"] == 0 and case.expected and stable(answer["out"]) != case.expected:
        return "an edit of what is stored changed what is shown, and was not noticed"
    return ""


def stable(out: str) -> str:
    """Return the fields of JSON output that do not differ between calls, as JSON."""
    try:
        shown = json.loads(out)
    except ValueError:
        return ""
    if isinstance(shown, dict):
        return json.dumps(
            {k: v for k, v in shown.items() if k not in ("seconds", "cached")}
        )
    return ""


class Campaign:
    """A run of the fuzzer: the samples, the places where commands run, and the failures.

    Args:
        home: A folder for the samples and places, to which no other process writes.
        jobs: Number of commands that run at a time.
    """

    def __init__(self, home: Path, jobs: int) -> None:
        from tests.fuzz import samples

        self.root = home / "samples"
        self.root.mkdir()
        if forked(lambda: samples.make(self.root)):
            raise SystemExit("the samples cannot be made")
        self.places = [Place(self.root, home / f"place{i}") for i in range(jobs)]
        self.shows = [
            words
            for name, r in samples.files(self.root)
            for words in r
            if name.startswith("runs/") and "--json" in words
        ]
        self.found: list[dict[str, Any]] = []
        self.codes: Counter[str] = Counter()
        self.slowest = self.largest = 0.0

    def baselines(self) -> dict[str, str]:
        """Return the output of commands that read stored runs before these are mutated."""
        cases = [Case(list(words)) for words in {tuple(words) for words in self.shows}]
        return {
            " ".join(case.words): stable(answer["out"])
            for case, answer in answers(cases, self.places)
        }

    def run(self, cases: Iterator[Case], log: Path | None) -> None:
        """Run cases, and record those that go wrong."""
        told = began = time.monotonic()
        for count, (case, answer) in enumerate(answers(cases, self.places), 1):
            self.codes[f"{case.kind} {answer['code']}"] += 1
            self.slowest = max(self.slowest, answer.get("seconds", 0.0))
            self.largest = max(self.largest, answer.get("megabytes", 0.0))
            if why := wrong(case, answer):
                self.found.append({"why": why, **vars(case), **answer})
                if log:
                    with log.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(self.found[-1], default=repr) + "\n")
            if (now := time.monotonic()) - told > _LINE:
                told = now
                sys.stdout.write(
                    f"{case.kind} {count}: {self} ({count / (now - began):.1f} a s)\n"
                )
                sys.stdout.flush()

    def __str__(self) -> str:
        ends = ", ".join(
            f"{kind}: {count}" for kind, count in sorted(self.codes.items())
        )
        most = f"slowest {self.slowest:.1f} s, largest {self.largest:.0f} MB"
        return f"{len(self.found)} wrong of {ends}; {most}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--commands", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    kind, _, numbers = given.only.partition(":")
    first, _, end = numbers.partition("..")
    home = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        for place in (home, home / "home", home / "tmp"):
            place.mkdir(exist_ok=True)
            place.chmod(0o755 if place == home else 0o777)
        os.environ.update(
            ENVIRONMENT, HOME=str(home / "home"), TMPDIR=str(home / "tmp")
        )
        preload()
        campaign = Campaign(home, given.jobs)
        for cases, of in (
            (command_cases(campaign.root, given.seed, given.commands), "command"),
            (
                file_cases(
                    campaign.root, given.seed, given.files, campaign.baselines()
                ),
                "file",
            ),
        ):
            if not given.only:
                campaign.run(cases, given.log)
            elif of == kind and end:
                campaign.run(islice(cases, int(first), int(end)), given.log)
            elif of == kind:
                chosen = islice(cases, int(first), int(first) + 1)
                for case, answer in answers(chosen, campaign.places):
                    sys.stdout.write(
                        json.dumps({**vars(case), **answer}, default=repr) + "\n"
                    )
    finally:
        shutil.rmtree(home, ignore_errors=True)
    first_one = {
        one["why"]: f"{one['kind']}:{one['number']}" for one in campaign.found[::-1]
    }
    for why, count in Counter(one["why"] for one in campaign.found).most_common():
        sys.stdout.write(f"{count:5}  {first_one[why]}  {why}\n")
    sys.stdout.write(f"done: {campaign}\n")
    return int(bool(campaign.found))


if __name__ == "__main__":
    sys.exit(main())

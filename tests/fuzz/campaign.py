"""Thousands of mutated commands and files: no traceback, no hang, no flood, the right exit code.

``python -m tests.fuzz.campaign [--commands N] [--files N] [--seed S] [--log FILE]`` prints what it
found; ``make fuzz`` runs 10,000 of each. A case is a pure function of seed and number.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz import samples
from tests.fuzz.mutate import NUMBERS, mutated_command, mutated_file

SECONDS, MEGABYTES = 5.0, 1000.0
#: Seconds of waiting after which a process that computes nothing is given up, too; one that could
#: compute and gets no processor, on a busy machine, does not wait.
PATIENCE = 60.0
HOME = Path(__file__).parents[2]


@dataclass
class Case:
    """A command, and the samples that are other than they should be."""

    words: list[str]
    files: dict[str, str] = field(default_factory=dict)
    forget: str = ""
    expected: str = ""


def command_cases(root: Path, seed: int, count: int) -> Iterator[Case]:
    """Yield mutated commands."""
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
        yield Case([word for word in words if word != "--debug"])


def file_cases(root: Path, seed: int, count: int, baselines: dict[str, str]) -> Iterator[Case]:
    """Yield commands that read a mutated file; what is stored is noticed or harmless."""
    known = samples.files(root)
    kinds = sorted({name.partition("/")[0] for name, _ in known})
    groups = [[one for one in known if one[0].partition("/")[0] == kind] for kind in kinds]
    for number in range(count):
        rng = random.Random(f"file {seed} {number}")
        name, readers = rng.choice(rng.choice(groups))
        words = [word.replace("FILE", name) for word in rng.choice(readers)]
        data = mutated_file(rng, root / name)
        files = {name: base64.b64encode(data).decode()}
        forget = "runs/tests/tiny" if name.startswith("runs/store") else ""
        expected = ""
        if name.startswith("runs/") and data != (root / name).read_bytes():
            expected = baselines.get(" ".join(words), "")
        yield Case(words, files, forget, expected)


class Worker:
    """A process that runs cases; begun again when one takes it down."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.scratch = Path(tempfile.mkdtemp(prefix="fuzz-"))
        self.process: subprocess.Popen[bytes] | None = None
        self.log = self.scratch / "stderr"

    def start(self) -> None:
        words = [
            sys.executable,
            "-m",
            "tests.fuzz.worker",
            str(self.root),
            str(self.scratch / "case"),
        ]
        paths = [str(HOME / "src"), str(HOME), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(paths),
            "OMP_NUM_THREADS": "1",
            "POLARS_MAX_THREADS": "1",
            "INWEIGHTS_MAX_MEMORY": "300MB",
            "INWEIGHTS_RUNS": "runs",
            "HF_HUB_OFFLINE": "1",
            "COLUMNS": "100",
        }
        with self.log.open("wb") as err:
            self.process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, env=environment,
                cwd=HOME,
            )  # fmt: skip
        assert self.process.stdout is not None
        if self.process.stdout.readline() != b"ready\n":
            raise SystemExit(self.log.read_text())

    def run(self, case: Case) -> dict[str, Any]:
        """Return how a case ended; ``error`` says what went wrong."""
        if self.process is None or self.process.poll() is not None:
            self.stop()
            self.start()
        assert self.process
        assert self.process.stdin
        assert self.process.stdout
        about = {"words": case.words, "files": case.files, "forget": case.forget}
        self.process.stdin.write(json.dumps(about).encode() + b"\n")
        self.process.stdin.flush()
        waited, before = 0.0, self.used()
        while not select.select([self.process.stdout], [], [], 0.5)[0]:
            waited += 0.5 * (self._fields()[0] != "R")
            used = self.used() - before
            if used > 3 * SECONDS or waited > PATIENCE:
                self.stop()
                why = f"hangs (after {used:.0f} s of work and {waited:.0f} s of waiting)"
                return {"code": None, "error": why}
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            return {"code": code, "error": f"died with {code}: {self.log.read_text()[-2000:]}"}
        return json.loads(line)

    def used(self) -> float:
        """Seconds of processor time that the process has had."""
        fields = self._fields()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _fields(self) -> list[str]:
        """What the system says of the process, from its state on."""
        assert self.process
        try:
            text = Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return ["X", *["0"] * 20]
        return text.rpartition(")")[2].split()

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            with self.process:  # waits, and closes its pipes
                self.process = None

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.scratch, ignore_errors=True)


def wrong(case: Case, answer: dict[str, Any]) -> str:
    """Say what is wrong with how a case ended; nothing if all is right."""
    if answer["error"]:
        lines = answer["error"].strip().splitlines()
        place = [line.strip() for line in lines if "/inweights/" in line][-1:]
        return f"{lines[-1][:200]}  {' '.join(place)}"
    if answer["seconds"] > SECONDS:
        return f"takes {answer['seconds']:.1f} s"
    if answer["megabytes"] > MEGABYTES:
        return f"takes {answer['megabytes']:.0f} MB"
    told = [line for line in answer["err"].splitlines() if line.startswith("inweights: ")]
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
    """What is shown, without what may differ each time."""
    try:
        shown = json.loads(out)
    except ValueError:
        return ""
    if isinstance(shown, dict):
        return json.dumps({k: v for k, v in shown.items() if k not in ("seconds", "cached")})
    return ""


def campaign(commands: int, files: int, seed: int, log: Path | None = None) -> list[dict[str, Any]]:
    """Run all cases and return those that went wrong."""
    root = Path(tempfile.mkdtemp(prefix="samples-"))
    samples.make(root)
    worker = Worker(root)
    found: list[dict[str, Any]] = []
    codes: Counter[str] = Counter()
    slowest = largest = 0.0
    try:
        shows = [r for name, r in samples.files(root) if name.startswith("runs/")]
        texts = {" ".join(words) for readers in shows for words in readers if "--json" in words}
        baselines = {text: stable(worker.run(Case(text.split()))["out"]) for text in texts}
        for kind, cases in (
            ("command", command_cases(root, seed, commands)),
            ("file", file_cases(root, seed, files, baselines)),
        ):
            for number, case in enumerate(cases):
                answer = worker.run(case)
                codes[f"{kind} {answer['code']}"] += 1
                slowest = max(slowest, answer.get("seconds", 0.0))
                largest = max(largest, answer.get("megabytes", 0.0))
                why = wrong(case, answer)
                if why:
                    found.append(
                        {"kind": kind, "number": number, "why": why, **vars(case), **answer}
                    )
                    if log:
                        with log.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(found[-1]) + "\n")
                if log and number % 250 == 0:
                    sys.stdout.write(
                        f"{kind} {number}: {len(found)} wrong, {dict(codes)}, slowest "
                    )
                    sys.stdout.write(f"{slowest:.1f} s, largest {largest:.0f} MB\n")
                    sys.stdout.flush()
    finally:
        worker.close()
        shutil.rmtree(root, ignore_errors=True)
    if log:
        sys.stdout.write(f"done: {len(found)} wrong, {dict(codes)}, slowest {slowest:.1f} s, ")
        sys.stdout.write(f"largest {largest:.0f} MB\n")
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--commands", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, default=Path("fuzz.jsonl"))
    given = parser.parse_args()
    found = campaign(given.commands, given.files, given.seed, given.log)
    for why, count in Counter(one["why"] for one in found).most_common():
        sys.stdout.write(f"{count:5}  {why}\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

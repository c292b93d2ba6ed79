"""A process that runs commands one after another, and says of each how it ended.

It reads lines of JSON, ``{"words": [...], "files": {path: bytes in base64}}``, and answers with one
of ``code``, ``out``, ``err``, ``error`` (a traceback), ``seconds`` (of its own time) and
``megabytes``. Each command has a fresh copy of the samples. Trainings are not run: a command that
has planned one is done.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
import time
import traceback
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

from tests.runs.tiny import RECIPE

import inweights.lab.collect
import inweights.lm.job
import inweights.theory.prediction
from inweights import cli, recipes


class PlannedError(BaseException):
    """The command has got to where training begins."""


def stop(*_args: object, **_options: Any) -> None:
    raise PlannedError


def arm() -> None:
    """Replace what takes minutes: training, what is written for it, and longer solutions."""
    collect = inweights.lab.collect.collect

    def tiny_only(plan, *args, **options):
        if all(one.compute.__module__ == "tests.runs.tiny" for one in plan.computations) and not (
            plan.trials
        ):
            return collect(plan, *args, **options)
        raise PlannedError

    inweights.lab.collect.collect = tiny_only
    for name in ("finetune", "replayed"):
        setattr(inweights.lm.job, name, stop)
    quick = partial(inweights.theory.nuclear_norm.solve, iterations=20)
    setattr(inweights.theory.prediction, "solve", quick)  # noqa: B010 (it is imported there)
    recipes._registered[RECIPE.name] = RECIPE


def peak() -> float:
    """Megabytes that this process has had at most since :func:`forget_peak`."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.split("VmHWM:")[1].split()[0]) / 1e3


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def run(case: dict[str, Any], samples: Path, scratch: Path) -> dict[str, Any]:
    """Run one command among a copy of the samples."""
    os.chdir(scratch.parent)
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(samples, scratch)
    os.chdir(scratch)
    for name, content in case["files"].items():
        (scratch / name).write_bytes(base64.b64decode(content))
    if case.get("forget"):  # the stored tables are read again
        shutil.rmtree(scratch / case["forget"])
    real = sys.stdout, sys.stderr, sys.stdin
    streams = [TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    sys.stdout, sys.stderr = streams
    sys.stdin = TextIOWrapper(BytesIO())
    answer: dict[str, Any] = {"code": None, "error": ""}
    forget_peak()
    before, began = peak(), time.process_time()
    try:
        answer["code"] = cli.main(case["words"])
    except PlannedError:
        answer["code"] = 0
    except BaseException:  # noqa: BLE001
        answer["error"] = traceback.format_exc()
    finally:
        sys.stdout, sys.stderr, sys.stdin = real
    answer["seconds"] = time.process_time() - began
    answer["megabytes"] = peak() - before
    for name, stream in zip(("out", "err"), streams, strict=True):
        answer[name] = stream.buffer.getvalue().decode("utf-8", "replace")
    return answer


def main(samples: str, scratch: str) -> None:
    arm()
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints past Python goes elsewhere
    pipe.write("ready\n")
    pipe.flush()
    for line in sys.stdin:
        answer = run(json.loads(line), Path(samples), Path(scratch))
        pipe.write(json.dumps(answer) + "\n")
        pipe.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

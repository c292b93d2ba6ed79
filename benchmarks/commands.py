"""Measure processor seconds and memory of whole commands, each in a new process.

``python benchmarks/commands.py [--json]`` starts Python with this package, shows the
help, estimates a recipe's cost, finishes a small recipe and reads it back, and draws
atlases of trees of 1,000 and 10,000 nodes (``--quick`` leaves out the larger one). The
memory includes that of Python and its libraries, which the first rows show.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from inweights.runs import environment

CLI = ("-m", "inweights")
NODES = (1_000, 10_000)


def taken(name: str, *words: str) -> dict[str, Any]:
    """Run Python with some arguments, and return its processor seconds and peak memory."""
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    silent = subprocess.DEVNULL
    with subprocess.Popen(  # noqa: S603
        [sys.executable, *words], env=settings, stdout=silent, stderr=silent
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
    seconds = round(used.ru_utime + used.ru_stime, 2)
    return {
        "command": name,
        "seconds": seconds,
        "mb": round(used.ru_maxrss * 1024 / 1e6),
    }


def tree(nodes: int, folder: str) -> str:
    """Write a file with the edges of a binary tree."""
    file = Path(folder) / f"tree-{nodes}.csv"
    edges = [f"n{(node - 1) // 2},n{node}" for node in range(1, nodes)]
    file.write_text("\n".join(["u,v", *edges]) + "\n", encoding="utf-8")
    return str(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--quick", action="store_true", help="without the largest atlas"
    )
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []

    def one(name: str, *words: str) -> None:
        rows.append(taken(name, *words))
        if not given.json:
            print(
                "{command:34} {seconds:8.2f} s {mb:7,} MB".format(**rows[-1]),
                flush=True,
            )

    with tempfile.TemporaryDirectory() as folder:
        here = ("--runs", folder, "--jobs", "1")
        one("import inweights", "-c", "import inweights")
        one("import torch", "-c", "import torch")
        one("--help", *CLI, "--help")
        dry = ("run", "identity-bridge/fig2", "--dry-run", *here)
        one("run fig2 --dry-run --fresh", *CLI, *dry, "--fresh")
        one("run fig2 --dry-run", *CLI, *dry)  # its estimate is cached
        one(
            "run fig3 at smoke",
            *CLI,
            "run",
            "identity-bridge/fig3",
            "--scale",
            "smoke",
            *here,
        )
        one(
            "the same, read back",
            *CLI,
            "run",
            "identity-bridge/fig3",
            "--scale",
            "smoke",
            *here,
        )
        for nodes in NODES[: 1 if given.quick else None]:
            file = tree(nodes, folder)
            one(
                f"atlas of {nodes:,} nodes",
                *CLI,
                "atlas",
                file,
                "--scale",
                "smoke",
                *here,
            )
    if given.json:
        print(json.dumps({"environment": environment(), "commands": rows}, indent=2))


if __name__ == "__main__":
    main()

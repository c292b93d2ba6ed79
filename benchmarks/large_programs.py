"""Program (2) of generated companies, from 100 to 100,000 facts, by five ways to solve it.

Ours for thousands of facts (:func:`.solve_large`), ours for fewer (``solve``), the
fastest solver of cvxpy, plain gradient descent with decay on the two factors, and
``predict`` within a minute and without advice, which divides what is larger. Each
row is processor seconds and memory of a process of its own, on one thread, and the
certified gap: that of others is taken against the best lower bound of the same facts.
A way that took too long at one size is not tried at the next.

    OMP_NUM_THREADS=1 python -m benchmarks.large_programs [--people 25 50 …]
        [--ways "one program" predict …] [--into FILE] [--figure FILE] [--json]

With ``--into`` the rows replace those of the same way and size in a stored file, and
others stay, each with the commit that it was measured at.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.nuclear import other_solver

from inweights import open_world, predict
from inweights.runs import environment
from inweights.theory import Program, solve
from inweights.theory.programs.large_scale import BYTES, solve_large
from inweights.worlds import World

PEOPLE = (25, 50, 100, 250, 500, 1_000, 2_000, 5_000, 25_000)
#: Processor seconds after which a way is not tried at the next size.
LIMIT = 60.0
#: The most people of each way: double precision takes twice the memory, and cvxpy took
#: 15 GB and 139 s for 100 people.
MOST = {"one program": 5_000, "exact": 500, "gradient descent": 250, "cvxpy": 50}
#: Gradient descent: decay, width of the factors, and steps.
DECAY, STEPS = 1e-5, 2_000
GAP = 1e-2


def company(people: int, seed: int = 0) -> World:
    """People with a town, a department, a manager and a language; towns have countries."""
    rng, rows = np.random.default_rng(seed), []
    towns, departments = max(people // 20, 2), max(people // 10, 2)
    rows += [f"t{t},country,c{t % max(towns // 8, 2)}" for t in range(towns)]
    rows += [f"d{d},located in,t{rng.integers(towns)}" for d in range(departments)]
    for person in range(people):
        rows.append(f"p{person},lives in,t{rng.integers(towns)}")
        rows.append(f"p{person},works in,d{rng.integers(departments)}")
        rows.append(f"p{person},reports to,p{(person - 1) // 6}")
        rows.append(f"p{person},speaks,l{rng.integers(30)}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.csv"
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        return open_world(str(path))


def large(program: Program) -> tuple[float, float]:
    """Return the optimum and the bound of ours for thousands of facts."""
    found = solve_large(program, gap=GAP)
    return found.optimum, found.bound


def exact(program: Program) -> tuple[float, float]:
    """Return the optimum and the bound of ours for fewer facts."""
    found = solve(program, gap=GAP)
    return found.optimum, found.bound


def convex(program: Program) -> tuple[float, float]:
    """Return 1 and one minus the gap of the fastest solver of cvxpy; no bound if none did."""
    found = other_solver(program, LIMIT, set())
    if not found:
        return np.inf, 0.0
    return 1.0, 1.0 - min(found, key=lambda row: row["seconds"])["gap"]


def forecast(world: World) -> tuple[float, float]:
    """Predict within a minute; there is one optimum only where the facts are one program."""
    made = predict(world, seconds=60, advise=False)
    if len(made.parts) > 1:
        return np.inf, 0.0
    return made.solution.optimum, made.solution.bound


def descent(program: Program) -> tuple[float, float]:
    """Return the norm by the least margin that gradient descent with decay comes to."""
    rng, counts = np.random.default_rng(0), program.counts
    turned = counts.T.tocsr()
    width = min(program.shape)
    left = rng.normal(size=(program.shape[0], width)) * 0.1 / np.sqrt(width)
    right = rng.normal(size=(program.shape[1], width)) * 0.1 / np.sqrt(width)
    # A step suits the inputs that are in most prompts.
    rate = len(program.row) / float(np.diff(turned.indptr).max())
    best, shares = np.inf, program.right / program.right.sum(1, keepdims=True)
    for step in range(STEPS):
        hidden = counts @ left
        logits = hidden @ right.T
        logits -= logits.max(1, keepdims=True)
        chances = np.exp(logits)
        chances /= chances.sum(1, keepdims=True)
        slope = (chances - shares) / len(shares)
        by_left, by_right = turned @ (slope @ right), slope.T @ hidden
        left = left - rate * (by_left + DECAY * left)
        right = right - rate * (by_right + DECAY * right)
        if step % 500 == 499:
            templates = left @ right.T
            least = float(program.least_margins(counts @ templates).min())
            norm = float(np.linalg.svd(templates, compute_uv=False).sum())
            best = min(best, norm / least) if least > 0 else best
    return best, 0.0


def measure(way: str, people: int) -> dict[str, Any]:
    """Return a row: processor seconds, memory, optimum and bound of one way."""
    world = company(people)
    program = Program.of(world, "several", held=BYTES) if way in WAYS else None
    began = time.process_time()
    if program is None:
        optimum, bound = forecast(world)
    else:
        optimum, bound = WAYS[way](program)
    return {
        "way": way,
        "facts": len(world.facts),
        "inputs": len(world.inputs),
        "outputs": len(world.outputs),
        "processor": round(time.process_time() - began, 2),
        "optimum": optimum,
        "bound": bound,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw processor seconds by the number of facts, a line for each way."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    for way, marker in zip([*WAYS, "predict"], "osv^d", strict=True):
        own = [row for row in rows if row["way"] == way]
        gaps = [row["gap"] for row in own if "gap" in row]
        label = f"{way} (gap up to {max(gaps, default=1.0):.2g})"
        if way == "predict":
            label = "predict in a minute, in parts where it takes longer"
        facts = [row["facts"] for row in own]
        axes.loglog(
            facts, [row["processor"] for row in own], marker=marker, label=label
        )
    axes.set_xlabel("facts")
    axes.set_ylabel("processor seconds, one thread")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def apart(way: str, people: int) -> dict[str, Any]:
    """Measure in a new process, so that the largest memory is that of this row."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(measure, way, people).result()


def add_gaps(rows: list[dict[str, Any]]) -> None:
    """Set the gap of each row with an optimum, by the best bound for the same facts."""
    bounds: dict[int, float] = {}
    for row in rows:
        if row["way"] in ("one program", "exact"):
            bounds[row["facts"]] = max(bounds.get(row["facts"], 0.0), row["bound"])
    for row in rows:
        bound = row["bound"] or bounds.get(row["facts"], 0.0)
        if np.isfinite(row.get("optimum", np.inf)):
            row["gap"] = float(1 - bound / row["optimum"])
        else:
            row.pop("optimum", None)


def merged(
    rows: list[dict[str, Any]], before: dict[str, Any], about: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return new rows and stored ones of other ways or sizes, in order, with their commits."""
    kept = {}
    for stored, own in ((before, before["rows"]), ({"environment": about}, rows)):
        commit = stored["environment"]["repositories"]["inweights"]["commit"][:8]
        for row in own:
            kept[row["way"], row["facts"]] = {"commit": commit, **row}
    order = [*WAYS, "predict"]
    return sorted(
        kept.values(), key=lambda row: (order.index(row["way"]), row["facts"])
    )


def as_text(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Return the stored form of rows and the environment they were measured in."""
    return json.dumps({"environment": about, "rows": rows}, indent=2) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ways = [*WAYS, "predict"]
    parser.add_argument("--people", nargs="*", type=int, default=PEOPLE)
    parser.add_argument("--ways", nargs="*", choices=ways, default=ways)
    parser.add_argument("--into", type=Path, help="stored file that rows are put into")
    parser.add_argument("--figure", type=Path, help="where the growth is drawn")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.figure and not (given.ways or given.into):
        parser.error(
            "nothing to draw: give --into FILE with stored rows, or some --ways"
        )
    about = environment()
    stored = {"environment": about, "rows": list[dict[str, Any]]()}
    if given.into and given.into.exists():
        stored = json.loads(given.into.read_text(encoding="utf-8"))
    new: list[dict[str, Any]] = []
    rows = merged(new, stored, about)
    for way in given.ways:
        if way == "cvxpy" and not find_spec("cvxpy"):
            continue
        for people in given.people:
            if people > MOST.get(way, people):
                continue
            row = apart(way, people)
            print(row, file=sys.stderr, flush=True)
            new.append(row)
            rows = merged(new, stored, about)
            add_gaps(rows)
            # After each row, so that none is lost.
            if given.into:
                given.into.write_text(as_text(about, rows), encoding="utf-8")
            if row["processor"] > LIMIT and way not in ("one program", "predict"):
                break
    if given.json:
        print(as_text(about, rows), end="")
    if given.figure:
        draw(rows, given.figure)


#: Each way to solve a program.
WAYS: dict[str, Callable[..., tuple[float, float]]] = {
    "one program": large,
    "exact": exact,
    "gradient descent": descent,
    "cvxpy": convex,
}


if __name__ == "__main__":
    main()

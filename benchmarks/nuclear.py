"""Compare the nuclear-norm solver with cvxpy, and measure its time and memory by size.

Both solve the full program (2) of Identity Bridge to the same certified relative gap:
the gap of cvxpy's answer is computed from its primal and dual points by the same two
bounds. Its fastest solver and loosest tolerance that reach the gap are used. Two ratios
are printed: for the whole call, which is the time that a user waits, and for the solver
alone, without cvxpy's preparation. Both sides are measured in turns in one process, and
only the ratios are meaningful.

    python benchmarks/nuclear.py [--limit 60] [--largest 1000] [--json]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from inweights.runs import environment
from inweights.theory import Program, solve
from inweights.theory.programs.splitting import multipliers
from inweights.worlds import TwoHop, World

GAP = 1e-3
#: Solvers of cvxpy, each with tolerances from loose to tight.
OTHERS = {
    "CLARABEL": [{"tol_gap_rel": 1e-4, "tol_gap_abs": 1e-4, "tol_feas": 1e-5}, {}],
    "SCS": [{"eps": e, "max_iters": 10**6} for e in (1e-3, 3e-4, 1e-4, 1e-5)],
}


def worlds() -> Iterator[tuple[str, World]]:
    """Return worlds of increasing size: symmetric, and random with half of the identities."""
    for n in (25, 50, 100, 200, 300, 500):
        yield f"shift, n = {n}", TwoHop(n=n).build(seed=0)
        slices = 3
        drawn = TwoHop(
            n=2 * n // 5, first_relations=slices, maps="sampled", identity=0.5
        )
        yield f"sampled, n = {2 * n // 5}", drawn.build(seed=0)


def certified(program: Program, w: Any, duals: Any) -> float:
    """Return the certified relative gap of a primal and a dual point."""
    counts = program.counts.toarray()
    least = program.least_margins(counts @ w).min()
    if least <= 0:
        return float("inf")
    primal = np.linalg.svd(w, compute_uv=False).sum() / least
    direction = np.where(program.right, np.inf, -duals)
    dual = multipliers(
        np.where(program.right, duals.sum(1)[:, None], direction), program.right
    )
    bound = (
        dual[program.right].sum() / np.linalg.svd(counts.T @ dual, compute_uv=False)[0]
    )
    return float(1 - bound / primal)


def other_solver(
    program: Program, limit: float, tired: set[str]
) -> list[dict[str, Any]]:
    """Time every solver of cvxpy at the loosest tolerance that reaches the gap."""
    rows = []
    for solver, attempts in OTHERS.items():
        if solver in tired:
            continue
        for options in attempts:
            found = one_attempt(program, solver, options, limit)
            if found["gap"] <= GAP:
                rows.append(found)
            if found["gap"] <= GAP or found["seconds"] >= limit:
                break
    return rows


def one_attempt(
    program: Program, solver: str, options: dict[str, Any], limit: float
) -> dict[str, Any]:
    """Solve once with cvxpy with a new problem, since solved problems start warm."""
    import cvxpy as cp

    w = cp.Variable(program.shape)
    logits = program.counts.toarray() @ w
    constraints = [
        logits[m, int(y)] - logits[m, np.flatnonzero(~program.right[m])] >= 1
        for m, y in enumerate(program.single)
    ]
    problem = cp.Problem(cp.Minimize(cp.normNuc(w)), constraints)  # type: ignore[attr-defined]
    stop = {"time_limit_secs": limit} if solver == "SCS" else {"time_limit": limit}
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=solver, warm_start=False, **options, **stop)  # type: ignore[no-untyped-call]
    except cp.SolverError:
        pass
    total = time.perf_counter() - began
    row = {"solver": solver, "seconds": total, "total": total, "gap": float("inf")}
    if w.value is not None and constraints[0].dual_value is not None:
        duals = np.zeros(program.right.shape)
        for m, constraint in enumerate(constraints):
            duals[m, ~program.right[m]] = np.maximum(constraint.dual_value, 0)
        row["gap"] = certified(program, w.value, duals)
        row["seconds"] = problem.solver_stats.solve_time or total
    return row


def against_cvxpy(limit: float, rounds: int) -> list[dict[str, Any]]:
    """Measure both solvers on the same worlds, until cvxpy takes longer than the limit."""
    rows: list[dict[str, Any]] = []
    tired: set[str] = set()
    for n in (5, 10, 20, 30, 40, 60, 80, 100):
        program = Program.of(TwoHop(n=n).build(seed=0))
        ours, theirs = [], []
        for _ in range(rounds if n <= 10 else 1):
            ours += [solve(program, gap=GAP) for _ in range(3)]
            found = other_solver(program, limit, tired)
            if not found:
                break
            theirs.append(min(found, key=lambda row: row["seconds"]))
            # Their time grows with about the fourth power of n, and not all keep to a
            # time limit.
            tired |= {row["solver"] for row in found if row["total"] * 2**4 > limit}
        mine = statistics.median(s.seconds for s in ours)
        row = {
            "n": n,
            "shape": program.shape,
            "ours": mine,
            "gap": max(s.gap for s in ours),
        }
        if theirs:
            best = statistics.median(t["seconds"] for t in theirs)
            row |= {"cvxpy": best, "solver": theirs[0]["solver"], "ratio": best / mine}
            total = statistics.median(t["total"] for t in theirs)
            row |= {"cvxpy_total": total, "ratio_total": total / mine}
        rows.append(row)
        _say(row)
        if not theirs:
            stop = (
                f"  cvxpy stops here: no solver reached a gap of {GAP:g} in {limit:g} s"
            )
            print(stop, file=sys.stderr)
            break
    return rows


def by_size(largest: int) -> list[dict[str, Any]]:
    """Measure time and memory of our solver."""
    rows = []
    for name, world in worlds():
        program = Program.of(world)
        if max(program.shape) > 1.02 * largest + 2:
            continue
        gap = 1e-2 if max(program.shape) > 700 else GAP
        solution = solve(program, gap=gap, seconds=900)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        row = {
            "world": name,
            "shape": program.shape,
            "constraints": program.constraints,
            "seconds": solution.seconds,
            "iterations": solution.iterations,
            "gap": solution.gap,
            "asked": gap,
            "status": solution.status,
            "peak_mib": peak / (2**20 if sys.platform == "darwin" else 2**10),
        }
        rows.append(row)
        _say(row)
    return rows


def _say(row: dict[str, Any]) -> None:
    cells = (
        f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()
    )
    print("  " + ", ".join(cells), file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds that cvxpy may take"
    )
    parser.add_argument(
        "--largest", type=int, default=400, help="largest number of outputs"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    sizes = by_size(given.largest)  # first, so that its memory is measured separately
    rivals = []
    if find_spec("cvxpy"):
        rivals = against_cvxpy(given.limit, given.rounds)
    else:
        print("cvxpy is not there: pip install 'inweights[cvx]' for the comparison")
    if given.json:
        print(
            json.dumps(
                {
                    "environment": environment(),
                    "against_cvxpy": rivals,
                    "by_size": sizes,
                }
            )
        )
        return
    for row in rivals:
        if "ratio" in row:
            print(
                f"n = {row['n']:<3} {row['ratio_total']:6.1f} times cvxpy with {row['solver']}, "
                f"{row['ratio']:6.1f} times the solver alone"
            )
    print(
        f"{'world':22}{'W':>12}{'constraints':>13}{'seconds':>9}{'gap':>9}{'peak MiB':>10}"
    )
    for row in sizes:
        shape = "×".join(map(str, row["shape"]))
        print(
            f"{row['world']:22}{shape:>12}{row['constraints']:>13,}{row['seconds']:>9.2f}"
            f"{row['gap']:>9.1e}{row['peak_mib']:>10.0f}"
        )


if __name__ == "__main__":
    main()

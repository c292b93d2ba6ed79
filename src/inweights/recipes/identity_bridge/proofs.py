"""Define the computation and score of each step of the proofs in Identity Bridge (§4.3, App. A)."""

from collections.abc import Callable, Sequence
from itertools import product

import polars as pl

from inweights import experiments
from inweights.theory.identity_bridge import full_matrices, proof, proof_kkt


def computations(
    sizes: Sequence[int], small: Sequence[int], worlds: Sequence[tuple[int, int]]
) -> list[experiments.Computation]:
    """Return the computations that check every step of the proofs at every size.

    Each computation results in a table with the columns ``check`` (the name of a checked
    quantity), ``value`` (its value) and the labels of the computation.

    Args:
        sizes: Numbers of entities of each kind at which steps with closed forms are
            checked.
        small: Numbers of entities of each kind at which steps with random or full
            matrices are checked. The cost of a step grows quickly with this number.
        worlds: Pairs of the number of subjects and the complexity of worlds for which
            the full program (2) is solved, with and without identities. Program (2)
            (§4.3) minimises the nuclear norm of the matrix of logits, subject to
            margins of at least 1 on the training facts.

    Returns:
        The computations ``with``, ``without``, ``point`` and ``kkt`` with the label
        ``n`` (each of ``sizes``), ``random`` with ``n`` (each of ``small``),
        ``averaging`` and ``proof`` with ``n`` and ``identity``, and ``full`` with
        ``n``, ``identity`` and ``complexity``. ``random`` and ``averaging`` are
        computed for each seed.
    """
    one_size: dict[str, Callable[..., pl.DataFrame]] = {
        "with": proof.with_identity,
        "without": proof.without,
        "point": proof.point_42,
        "kkt": proof_kkt.at_optimum,
    }
    by_matrices: dict[str, Callable[..., pl.DataFrame]] = {
        "averaging": full_matrices.averaging,
        "proof": full_matrices.certificate,
    }
    return [
        *(
            experiments.Computation(
                name=name,
                labels={"n": n},
                compute=compute,
                options={"n": n},
            )
            for (name, compute), n in product(one_size.items(), sizes)
        ),
        *(
            experiments.Computation(
                name="random",
                labels={"n": n},
                compute=proof_kkt.at_random,
                options={"n": n},
                seeded=True,
            )
            for n in small
        ),
        *(
            experiments.Computation(
                name=name,
                labels={"n": n, "identity": identity},
                compute=compute,
                options={"n": n, "identity": identity},
                seeded=name == "averaging",
            )
            for (name, compute), n, identity in product(
                by_matrices.items(), small, (True, False)
            )
        ),
        *(
            experiments.Computation(
                name="full",
                labels={"n": n, "identity": identity, "complexity": complexity},
                compute=full_matrices.full_program,
                options={"n": n, "complexity": complexity, "identity": identity},
            )
            for identity, (n, complexity) in product((True, False), worlds)
        ),
    ]


#: Largest absolute value that counts as zero: in results of a solver, and where there
#: are only rounding errors.
ZERO = 1e-6
ROUNDING = 1e-9


# Values of inweights.theory.identity_bridge.proof and proof_kkt, computed for every n.
given, without, point_42, kkt, random = (
    experiments.computed(table, "value").over("n")
    for table in ("with", "without", "point", "kkt", "random")
)
averaging, whole, full = (
    experiments.computed(table, "value").over("n", "identity")
    for table in ("averaging", "proof", "full")
)

#: Claims about the proofs (App. A), one for each step.
SCORES = {
    "theorem-1": given.at(check="thm 1") >= 1e-3,
    "theorem-2": without.at(check="thm 2") <= -1e-3,
    "lemma-1-norm": averaging.at(check="norm") <= ROUNDING,
    "lemma-1-margin": averaging.at(check="margin") >= -ROUNDING,
    "lemma-1-constraints": given.at(check="lemma 1") <= ZERO,
    "lemma-2": random.at(check="lemma 2") <= ROUNDING,
    "assumption-1": full.at(complexity=1, check="distance") <= 1e-3,
    "assumption-2": whole.at(check="assumption 2") <= ROUNDING,
    "lemma-3": given.at(check="lemma 3") <= ZERO,
    "proposition-1-value": random.at(check="prop 1") <= ROUNDING,
    "proposition-1-slope": random.at(check="prop 1 growth").within(0.999, 1.001),
    "proposition-2": given.at(check="prop 2").within(-ZERO, ZERO),
    "proposition-3-23": random.at(check="(23)") <= 1e-4,
    "proposition-3-24": random.at(check="(24)") <= 1e-5,
    "proposition-3-descent": random.at(check="(25) sign") <= -1e-3,
    "proposition-3-25": random.at(check="(25) printed") <= 1e-5,
    "25-corrected": random.at(check="(25)") <= 1e-5,
    "proposition-4-g1": given.at(check="(12) a1").within(-ZERO, ZERO),
    "proposition-4-g2": given.at(check="(12) g2").within(-ZERO, ZERO),
    "proposition-4-27": kkt.at(check="(27)") <= -1e-3,
    "proposition-4-28": kkt.at(check="(28)") <= ROUNDING,
    "proposition-4-case-2": kkt.at(check="case 2") >= 1e-3,
    "proposition-4-33": kkt.at(check="(33)") >= 1.0,
    "conditions-13-17": given.at(check="(13)") >= 1e-3,
    "condition-14": random.at(check="(14)") <= ROUNDING,
    "condition-19": given.at(check="(19)") <= ZERO,
    "assumption-3": kkt.at(check="(28) sign") >= -ROUNDING,
    "assumption-4-c1": given.at(check="assumption 4 c1") >= 1e-3,
    "assumption-4-order": given.at(check="assumption 4 a2") >= 0.01,
    "lemma-4-swap": averaging.at(identity=False, check="form") <= ROUNDING,
    "lemma-4-constraints": without.at(check="lemma 4") <= ZERO,
    "step-1": without.at(check="step 1") <= ZERO,
    "condition-39": without.at(check="(39)") <= 1e-5,
    "condition-41": without.at(check="(41)").within(-1e-5, 1e-5),
    "conditions-43-44": without.at(check="(43)") <= 1e-4,
    "point-42-in-37": point_42.at(check="(37)") >= -ROUNDING,
    "point-42-value": point_42.at(check="norm").within(-ROUNDING, ROUNDING),
    "point-42-in-2": point_42.at(check="(2)") >= -ROUNDING,
    "condition-38": without.at(check="(38)") <= -1e-3,
    "36-not-unique": without.at(check="(36) range") >= 0.5,
    "rank-one": given.at(check="assumption 4 t") <= ROUNDING,
    "regularity": kkt.at(check="licq") >= 1.0,
    "multipliers-exist": kkt.at(check="mfcq") >= 1e-3,
    # Our own proof of the closed form; each condition is checked on whole matrices.
    "closed-form": given.at(check="closed form") <= 1e-7,
    "closed-form-without": without.at(check="closed form") <= 1e-7,
    "proof-feasible": whole.at(check="feasible") >= -1e-12,
    "proof-dual": whole.at(check="operator norm") <= 1e-12,
    "proof-gap": whole.at(check="gap").within(-1e-12, 1e-12),
    "proof-positive": whole.at(check="least multiplier") >= 1e-2,
    "proof-unique": whole.at(check="unique") >= 1e-2,
    "limit": given.at(check="excess n").within(0.0, 60.0),
    "symmetric-is-full": full.at(complexity=1, check="symmetric") <= 1e-4,
}

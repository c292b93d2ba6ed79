"""Our experiment: which answers change if a hop is edited, by rank-one updates or training?"""

from itertools import product

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, Trial, cosine, share
from inweights.recipes.shared.derived import memorised

#: What is trained on besides the hops in each arm: whether identities, and the fraction
#: of the two-hop facts.
ARMS: dict[str, tuple[bool, float]] = {
    "hops alone": (False, 0.0),
    "identities": (True, 0.0),
    "two-hop facts": (False, 0.95),
    "both": (True, 0.95),
}
RANK_ONE = "rank-one"
TRAINING = "training"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``edits.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of chains of the two-hop world, at least 2.
        model: Config of the GPT.
        steps: Number of updates of each training run.
        most: Maximum number of facts to edit. Each fact is edited separately.
    """

    n: int = 20
    model: iw.GPTConfig = iw.GPTConfig(layers=4, width=64, tied=False)
    steps: int = 280
    most: PositiveInt = 8


def plan(settings: Settings) -> Plan:
    """Plan the training of a model on every mix of facts, and the edits of the trained models.

    Args:
        settings: The recipe's settings, such as ``n``, ``model`` and ``steps``;
            :class:`Settings` describes each.

    Returns:
        The plan.

        - Label of the trials: ``arm``, the facts that the model is trained on in
          addition to the hops (``hops alone``: none; ``identities``; ``two-hop facts``:
          95% of them; ``both``).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`) and ``rank-one,
          first_hop``, ``rank-one, second_hop``, ``training, first_hop`` and ``training,
          second_hop`` (:func:`inweights.probes.edits` with the method and the role of
          the edited facts in the name).

    Raises:
        ConfigError: ``n`` is below 2, or ``steps`` is negative.
    """
    trials = [
        Trial(
            labels={"arm": arm},
            world=iw.TwoHop(
                n=settings.n, identity=identity, trained=trained, maps="permutation"
            ),
            model=settings.model,
            learner=iw.learners.two_hop(settings.model.width, steps=settings.steps),
        )
        for arm, (identity, trained) in ARMS.items()
    ]
    measures = [
        Measure(
            name=f"{method}, {role}",
            probe=iw.probes.edits,
            options={"role": role, "method": method, "most": settings.most},
        )
        for method, role in product((RANK_ONE, TRAINING), ("first_hop", "second_hop"))
    ]
    return Plan(trials=trials, measures=[iw.probes.accuracy, *measures])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return all edits in one table, and how well the overlap of keys predicts their effects.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`: ``part,
            role, distribution, statements, accuracy, accuracy_among, chance, loss,
            right_answers``), ``rank-one, first_hop`` (:func:`inweights.probes.edits`),
            ``rank-one, second_hop`` (:func:`inweights.probes.edits`), ``training,
            first_hop`` and ``training, second_hop`` (each ``holds, reached, unmoved,
            facts, others, overlap, apart``). All have the columns ``arm, seed``. The
            label is ``arm``, the facts that the model is trained on in addition to the
            hops (``hops alone``: none; ``identities``; ``two-hop facts``: 95% of them;
            ``both``). Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``edits``: a row per run, ``method`` (``rank-one`` or ``training``) and
          ``role`` of the edited fact, with the columns of
          :func:`inweights.probes.edits`, for instance ``reached``, the share of
          correctly changed answers among those that depend on the edited fact. Columns:
          ``arm, seed, holds, reached, unmoved, facts, others, overlap, apart, method,
          role``.
        - ``known``: a row per run, with ``accuracy`` on the facts before any edit: the
          lowest value over the roles (kinds) of facts. Columns: ``arm, seed,
          accuracy``.
        - ``predicted``: a row per seed: the ``correlation`` (Pearson's) between
          ``overlap`` (of the keys, the inputs of the MLP's output matrix) and
          ``reached``, over the rank-one edits of all arms and roles. Columns: ``seed,
          correlation``.
        - ``drawn``: a row per run, method, role and value of ``what`` (``reached``,
          ``facts``, ``others``), with its ``share``; ``panel`` names the method and the
          role.
          Columns: ``arm, role, method, seed, what, share, panel``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    parts = []
    for name, table in tables.items():
        method, _, role = name.partition(", ")
        if role:  # other tables contain the accuracy before any edit
            marked = table.with_columns(method=pl.lit(method), role=pl.lit(role))
            parts.append(marked)
    edits = pl.concat(parts)
    exact = edits.filter(method=RANK_ONE)
    long = edits.unpivot(
        ["reached", "facts", "others"],
        index=["arm", "role", "method", "seed"],
        variable_name="what",
        value_name="share",
    )
    return {
        "edits": edits,
        "known": memorised(tables["accuracy"], ["arm"]),
        "predicted": exact.group_by("seed", maintain_order=True).agg(
            correlation=pl.corr("overlap", "reached")
        ),
        "drawn": long.with_columns(panel=pl.format("{}, {}", "method", "role")),
    }


found = share("edits", "reached", method=RANK_ONE, role="second_hop")
trained = share("edits", "reached", method=TRAINING)

SCORES = {
    "facts-are-known": share("known", "accuracy").over("arm") >= 0.99,
    "edits-hold": found.of("holds").over("arm") >= 0.99,
    "second-hop-reaches-identities": found.at(arm="identities") >= 0.8,
    "second-hop-reaches-two-hop-facts": found.at(arm="two-hop facts") >= 0.8,
    "second-hop-reaches-both": found.at(arm="both") >= 0.8,
    "hops-alone-share-nothing": found.at(arm="hops alone") <= 0.2,
    "overlap-predicts": cosine("predicted", "correlation") >= 0.7,
    "other-hops-stay": found.of("facts").over("arm") >= 0.95,
    "other-compositions-stay": found.of("others").at(arm="both") >= 0.95,
    "first-hop-is-too-late": found.at(role="first_hop").over("arm") <= 0.1,
    "training-reaches-first-hops": trained.at(role="first_hop", arm="both") >= 0.5,
    "training-is-not-local": trained.of("facts").at(role="second_hop").over("arm")
    <= 0.8,
}

"""Share code between the recipes on kinds of queries: two models, a prediction, agreement."""

from collections.abc import Mapping, Sequence

import msgspec
import polars as pl

import inweights as iw
from inweights import experiments
from inweights.recipes.identity_bridge.common import NARROW, GPTTraining
from inweights.recipes.shared.derived import memorised
from inweights.theory import predicted_queries

EMB_MLP = "Emb-MLP"
DECAYED = "Emb-MLP, decay"
GPT = "GPT, small"


class Training(iw.Config):
    """How the two models are trained.

    Attributes:
        width: Width of Emb-MLP.
        rate: Learning rate of Emb-MLP.
        steps: Updates of Emb-MLP.
        decay: Weight decay of the condition with decay, and of its prediction.
        gpt: The GPT and its training.
    """

    width: int = 64
    rate: float = 2.0
    steps: int = 6000
    decay: float = 1e-3
    gpt: GPTTraining = NARROW

    def learners(self) -> dict[str, tuple[experiments.ModelConfig, iw.Curriculum]]:
        """Return model and curriculum of every condition, by its name."""
        emb = iw.EmbMLPConfig(width=self.width)
        plain, decayed = (
            iw.Curriculum(
                phases=(
                    iw.Phase(
                        steps=self.steps,
                        optimizer=iw.Optimizer(
                            kind="sgd",
                            rate=self.rate,
                            weight_decay=decay,
                            decayed="all",
                        ),
                    ),
                )
            )
            for decay in (0.0, self.decay)
        )
        small = msgspec.structs.replace(
            self.gpt.model, init=iw.Init(gamma=self.gpt.small_gamma)
        )
        return {
            EMB_MLP: (emb, plain),
            DECAYED: (emb, decayed),
            GPT: (small, iw.Curriculum(phases=(self.gpt.phase,))),
        }


def plan(
    worlds: Sequence[tuple[Mapping[str, experiments.Value], experiments.WorldConfig]],
    training: Training,
    undecayed: float | None = None,
) -> experiments.Plan:
    """Return a plan that predicts every world with and without decay, and trains all models.

    Args:
        worlds: Labels and config of each world.
        training: How the models are trained.
        undecayed: Decay of the prediction for the Emb-MLP without decay; ``None`` for
            program (2) (Identity Bridge §4.3: the least nuclear norm under margins of
            1).

    Returns:
        Trials with the labels of the worlds and ``model`` (the keys of
        :meth:`Training.learners`); the measures ``trained`` (margins) and ``accuracy``; the
        computation ``predicted``, by the same labels.
    """
    trials = []
    computations = []
    for labels, world in worlds:
        computations += [
            experiments.Computation(
                name="predicted",
                labels={**labels, "model": name},
                compute=predicted_queries,
                options={"world": world, "decay": decay},
                seeded=True,
                effort=100,
            )
            for name, decay in ((EMB_MLP, undecayed), (DECAYED, training.decay))
        ]
        trials += [
            experiments.Trial(
                labels={**labels, "model": name},
                world=world,
                model=model,
                learner=learner,
            )
            for name, (model, learner) in training.learners().items()
        ]
    return experiments.Plan(
        trials=trials,
        computations=computations,
        measures=[
            experiments.Measure(name="trained", probe=iw.probes.margins),
            iw.probes.accuracy,
        ],
    )


def common_scores(
    *labels: str, **where: experiments.Value
) -> dict[str, experiments.Judged]:
    """Return what is judged of every kind of question: the programs agree, the facts are known."""
    agrees = experiments.share("agreement", "agrees", **where)
    known = experiments.share("memorised", "accuracy").at(model=EMB_MLP).over(*labels)
    return {
        "soft-program-agrees": agrees.at(model=DECAYED) >= 0.98,
        "program-2-agrees": agrees.at(model=EMB_MLP) >= 0.9,
        "memorised": known >= 0.99,
    }


def derive(
    tables: dict[str, pl.DataFrame], labels: Sequence[str], by: Sequence[str] = ()
) -> dict[str, pl.DataFrame]:
    """Return accuracy on the queries, agreement with the prediction, and recall of the facts.

    Args:
        tables: Measured tables, by name.
        labels: Columns that name the worlds.
        by: Labels by which agreement is given separately; by default it is one number.

    Returns:
        - ``questions``: a row per run and role of queries, with ``accuracy``.
        - ``agreement``: share of the queries for which predicted and trained margin
          have one sign (``agrees``); queries that the prediction calls tied are left
          out.
        - ``memorised``: the accuracy of each run on the facts of its least known role.
    """
    keys = [*labels, "model", "seed"]
    predicted = tables["predicted"].select(
        *keys, "prompt", "verdict", foreseen="margin"
    )
    joined = tables["trained"].join(predicted, on=[*keys, "prompt"])
    # A tie predicts neither sign.
    sure = joined.filter(pl.col("verdict") != "tied").with_columns(
        agrees=((pl.col("foreseen") > 0) == (pl.col("margin") > 0)).cast(pl.Float64)
    )
    return {
        "questions": tables["accuracy"].filter(pl.col("part") == "queries"),
        "agreement": sure.group_by([*by, "model", "seed"], maintain_order=True).agg(
            pl.col("agrees").mean()
        ),
        "memorised": memorised(tables["accuracy"], ["model", *labels]),
    }

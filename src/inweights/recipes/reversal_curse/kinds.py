"""Share code between recipes that compare the answers of two models with predictions."""

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
    """Settings of two models, Emb-MLP and GPT, and of their training.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    config is used.

    Attributes:
        width: Width of the Emb-MLP, at least 1.
        rate: Learning rate of the Emb-MLP, above 0.
        steps: Number of updates of the Emb-MLP.
        decay: Weight decay of the Emb-MLP in the condition with weight decay, and in
            the prediction for this condition.
        gpt: Settings of the GPT and of its training. The initial standard deviation of
            a matrix with ``d`` inputs is ``d^-γ``, with the exponent ``small_gamma``.
    """

    width: int = 64
    rate: float = 2.0
    steps: int = 6000
    decay: float = 1e-3
    gpt: GPTTraining = NARROW

    def learners(self) -> dict[str, tuple[experiments.ModelConfig, iw.Curriculum]]:
        """Return the model config and the curriculum of every condition.

        Returns:
            Three pairs of a model config and a curriculum, keyed by the name of the
            condition: ``Emb-MLP`` (gradient descent without weight decay), ``Emb-MLP,
            decay`` (with the weight decay ``decay``) and ``GPT, small`` (with small
            initialisation).

        Raises:
            ConfigError: A setting is out of range for a model or its training.
        """
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
    """Plan training runs of all models on every world, and predictions of their answers.

    Args:
        worlds: For each world, its labels and its config.
        training: Settings of the models and of their training.
        undecayed: Weight decay in the program that predicts the answers of the Emb-MLP
            trained without weight decay. If ``None`` (the default), program (2) is used
            instead (Identity Bridge §4.3: the smallest nuclear norm with margins of at
            least 1).

    Returns:
        The plan.

        - Labels of the trials: the labels of the worlds, and ``model`` (Emb-MLP;
          Emb-MLP, decay; GPT, small: the conditions of :meth:`Training.learners`).
        - Measures: ``trained`` (:func:`inweights.probes.margins`) and ``accuracy``
          (:func:`inweights.probes.accuracy`).
        - Computation: ``predicted`` (:func:`inweights.theory.predicted_queries`), the
          predicted answer to every query.

        Predictions are made for both conditions of the Emb-MLP, with the same labels
        and for each seed.

    Raises:
        ConfigError: A setting of the training is out of range.
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
    """Return the scores and thresholds of three claims that several recipes share.

    Args:
        *labels: Names of the labels that identify a world. Recall is judged separately
            for each combination of their values.
        **where: Values of labels, keyed by the name of the label. Agreement is computed
            over the rows with these values; by default over all rows.

    Returns:
        Three scores with thresholds, keyed by the id of the claim:

        - ``soft-program-agrees``: the predictions agree with at least .98 of the
          answers of the Emb-MLP with decay.
        - ``program-2-agrees``: the predictions agree with at least .9 of the answers of
          the Emb-MLP without decay.
        - ``memorised``: the Emb-MLP without decay answers at least .99 of the facts of
          every role correctly.
    """
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
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``trained`` (:func:`inweights.probes.margins`), ``accuracy``
            (:func:`inweights.probes.accuracy`) and ``predicted``
            (:func:`inweights.theory.predicted_queries`).
        labels: Names of the columns that identify the worlds.
        by: Names of labels; the agreement is computed separately for each of their
            values. By default it is computed over all worlds.

    Returns:
        - ``questions``: the rows of ``accuracy`` whose ``part`` is ``queries``, with
          all columns; one row per run, role and distribution of the queries.
        - ``agreement``: a row per value of ``by``, ``model`` and ``seed``, with
          ``agrees``, the share (0 to 1) of the queries for which the predicted margin
          and the margin of the trained model have the same sign. Queries that are
          predicted to tie are left out. Only the two conditions of the Emb-MLP have
          rows, since there is no prediction for the GPT.
        - ``memorised``: a row per run, with the lowest ``accuracy`` over the roles
          (kinds) of facts. Columns: ``model``, those in ``labels``, ``seed`` and
          ``accuracy``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    keys = [*labels, "model", "seed"]
    predicted = tables["predicted"].select(
        *keys, "prompt", "verdict", foreseen="margin"
    )
    joined = tables["trained"].join(predicted, on=[*keys, "prompt"])
    # A tie predicts neither sign, and is left out.
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

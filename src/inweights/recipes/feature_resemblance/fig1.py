"""Figure 1 of Feature Resemblance: resemblance grows with depth (appendix C, theorem 6)."""

from functools import partial

import polars as pl

import inweights as iw
from inweights import experiments
from inweights.models.configs import DeepLinearConfig
from inweights.recipes.feature_resemblance import common as fr
from inweights.recipes.feature_resemblance import trainings as tasks
from inweights.worlds.labels import Labels

LINEAR = "linear network"
#: Depth of the linear network up to which the labels are not fitted yet, as the
#: prediction assumes.
EARLY = 4


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig1.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        world: Config of the world, which has labels and inputs; several inputs share a
            label.
        linear: Width and depth of the linear network; its readout is frozen.
        rate: Learning rate of the linear network, above 0.
        steps: Number of updates of each layer of the linear network. The layers are
            trained one after the other.
        gpt: Config of the GPT, which is trained end to end with AdamW.
        gpt_rate: Learning rate of the GPT.
        gpt_steps: Maximum number of updates of the GPT. Training stops earlier at a
            loss of 0.02.
    """

    world: Labels = Labels()
    linear: DeepLinearConfig = DeepLinearConfig(width=1024, layers=7)
    rate: float = 2.0
    steps: int = 10
    gpt: iw.GPTConfig = iw.GPTConfig(
        layers=6,
        width=64,
        heads=4,
        tied=False,
    )
    gpt_rate: float = 1e-3
    gpt_steps: int = 1000

    def layer_wise(self) -> experiments.Curriculum:
        """Return a curriculum with one phase for each layer of the linear network.

        Returns:
            A curriculum of the phases ``layer 1``, ``layer 2``, …, each with ``steps``
            updates of one layer by full-batch gradient descent.

        Raises:
            ConfigError: ``rate`` is not positive and finite, or ``steps`` is negative.
        """
        optimizer = iw.Optimizer(kind="sgd", rate=self.rate, weight_decay=0.0)
        phase = partial(iw.Phase, steps=self.steps, optimizer=optimizer)
        return experiments.Curriculum(
            phases=tuple(
                phase(name=f"layer {i + 1}", moves=(f"layers.{i}.weight",))
                for i in range(self.linear.layers)
            )
        )


def plan(settings: Settings) -> experiments.Plan:
    """Plan the training of a linear network and of a GPT, and a prediction that needs no training.

    Args:
        settings: The recipe's settings, such as ``world``, ``linear`` and ``rate``;
            :class:`Settings` describes each.

    Returns:
        The plan.

        - Label of the trials: ``model`` (``linear network``, ``GPT``).
        - Measure: ``cosines`` (:func:`inweights.probes.depth.label_cosines`).
        - Computation: ``foretold``
          (:func:`inweights.probes.depth.predicted_similarity_by_depth`), the similarity
          that theory predicts at each depth of the linear network. No model is trained
          for this prediction.

    Raises:
        ConfigError: A learning rate is not positive and finite, or a number of updates
            is negative.
    """
    from inweights.probes.depth import label_cosines, predicted_similarity_by_depth

    world = settings.world
    end_to_end = iw.Phase(
        steps=settings.gpt_steps,
        optimizer=iw.Optimizer(rate=settings.gpt_rate, decayed="all"),
        stop=iw.Stop(loss_below=0.02),
    )
    learners: dict[str, tuple[experiments.ModelConfig, experiments.Curriculum]] = {
        LINEAR: (settings.linear, settings.layer_wise()),
        tasks.GPT: (settings.gpt, experiments.Curriculum(phases=(end_to_end,))),
    }
    return experiments.Plan(
        trials=[
            experiments.Trial(
                labels={"model": name}, world=world, model=model, learner=learner
            )
            for name, (model, learner) in learners.items()
        ],
        computations=[
            experiments.Computation(
                name="foretold",
                labels={"model": LINEAR},
                compute=predicted_similarity_by_depth,
                options={
                    "layers": settings.linear.layers,
                    "inputs": world.labels * world.per_label,
                    "per_label": world.per_label,
                    "rate": settings.rate,
                    "steps": settings.steps,
                },
                effort=1,
            )
        ],
        measures=[experiments.Measure(name="cosines", probe=label_cosines)],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the rise of similarity from layer to layer, its prediction, and final losses.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``cosines`` (:func:`inweights.probes.depth.label_cosines`:
            ``layer, depth, same, other, other_size``), ``foretold``
            (:func:`inweights.probes.depth.predicted_similarity_by_depth`: ``depth,
            foretold``), and ``losses`` (training losses, as recorded: ``phase, step,
            loss``). All have the columns ``model, seed``. The label is ``model``
            (``linear network``, ``GPT``).

    Returns:
        - ``steps``: a row per run, with ``least``, the smallest increase from one layer
          to the next in the cosine similarity of inputs with the same label. Columns:
          ``model, seed, least``.
        - ``ends``: a row per run: ``rise``, the increase in this cosine similarity from
          the first to the last layer; ``contrast``, its value in the last layer minus
          the absolute cosine similarity of inputs with different labels; and
          ``other_rise``, the increase in this absolute cosine similarity from the first
          to the last layer. Columns: ``model, seed, rise, contrast, other_rise``.
        - ``predicted``: a row per seed and layer (up to depth 4) of the linear network,
          with the predicted cosine (``foretold``) and its absolute ``error``. Columns:
          all columns of ``cosines``, plus ``foretold, error``.
        - ``final_loss``: a row per run, with the training loss that was recorded last.
          Columns: ``model, seed, loss``.
        - ``shown``: a row per run, depth and value of ``pairs`` (``same label``;
          ``other label, absolute``; ``same label, predicted``), with ``cosine``, for
          the figure.
          Columns: ``model, seed, depth, pairs, cosine``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    keys = ["model", "seed"]
    foretold = tables["foretold"]
    cosines = tables["cosines"].sort(*keys, "depth", maintain_order=True)
    by_model = cosines.group_by(keys, maintain_order=True)
    same = pl.col("same")
    other = pl.col("other_size")
    # The prediction uses the loss at the start, so that it only holds while the labels
    # are not fitted yet.
    early = cosines.filter(pl.col("depth") <= EARLY)
    measured = cosines.unpivot(
        ["same", "other_size"],
        index=[*keys, "depth"],
        variable_name="pairs",
        value_name="cosine",
    )
    predicted = foretold.select(
        *keys, "depth", pairs=pl.lit("foretold"), cosine="foretold"
    )
    words = {
        "same": "same label",
        "other_size": "other label, absolute",
        "foretold": "same label, predicted",
    }
    return {
        "steps": by_model.agg(least=same.diff().min()),
        "ends": by_model.agg(
            rise=same.last() - same.first(),
            contrast=same.last() - other.last(),
            other_rise=other.last() - other.first(),
        ),
        "predicted": early.join(
            foretold.drop("seed"), on=["model", "depth"]
        ).with_columns(error=(same - pl.col("foretold")).abs()),
        "final_loss": fr.last_loss(tables["losses"], keys),
        "shown": pl.concat([measured, predicted], how="diagonal_relaxed").with_columns(
            pl.col("pairs").replace(words)
        ),
    }


least_step = experiments.number("steps", "least")
rise = experiments.number("ends", "rise")

SCORES = {
    "linear-rises": least_step.at(model=LINEAR) >= 0.0,
    "linear-aligned": rise.at(model=LINEAR) >= 0.5,
    "gpt-rises": least_step.at(model=tasks.GPT) >= -0.005,
    "gpt-aligned": rise.at(model=tasks.GPT) >= 0.1,
    "labels-apart": rise.of("contrast").over("model") >= 0.5,
    "others-rise-too": experiments.cosine("ends", "other_rise", model=LINEAR) >= 0.1,
    "predicted-by-depth": experiments.number("predicted", "error", model=LINEAR).over(
        "depth"
    )
    <= 0.04,
    "gpt-fitted": experiments.number("final_loss", "loss", model=tasks.GPT) <= 0.05,
}

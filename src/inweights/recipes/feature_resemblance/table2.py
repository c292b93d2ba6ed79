"""Table 2 of Feature Resemblance: analogies of a pretrained model, by the order of its training."""

import polars as pl

import inweights as iw
from inweights.experiments import Computation, Judged, Outside, Plan, cosine, share
from inweights.lm.tuning.fine_tune import FineTune
from inweights.recipes.shared.language import analogies
from inweights.recipes.shared.language.experiment import tell_and_ask
from inweights.support.keys.content import contents_of


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``table2.toml``.

    Attributes:
        model: Model to fine-tune: a folder, the name of a Hugging Face model in the
            local cache, ``@smollm2`` or ``@tiny`` (a small random model).
        rows: Number of rows of the data to use, spread evenly over its relations; at
            least 2, or 0 for all rows.
        training: Settings of the fine-tuning in every stage.
        conditions: Names of the conditions to run, a subset of ``CONDITIONS`` in
            :mod:`inweights.recipes.shared.language.analogies`.

    Raises:
        ConfigError: A condition is unknown, ``rows`` is 1 or negative, or a value has
            the wrong type.
    """

    model: str = "@smollm2"
    rows: int = 30
    training: FineTune = FineTune(
        method="lora",
        rate=1e-3,
        epochs=10,
        batch_tokens=256,
        precision="bf16",
        end=False,
    )
    conditions: tuple[str, ...] = analogies.CONDITIONS

    @property
    def contents(self) -> dict[str, str]:
        """Dictionary that maps the model's name to a hash of its files; empty for a bundled model.

        Raises:
            DataError: A file of the model cannot be read.
        """
        return contents_of(self.model)

    def __post_init__(self) -> None:
        for condition in self.conditions:
            # Constructed only to reject an unknown condition when the settings are
            # read.
            analogies.Analogies(rows=self.rows, condition=condition)


def plan(settings: Settings) -> Plan:
    """Plan the fine-tuning and evaluation of every condition, including one without training.

    Args:
        settings: The recipe's settings, such as ``model``, ``rows`` and ``training``;
            :class:`Settings` describes each.

    Returns:
        The plan, with the computation ``answers``
        (:func:`~inweights.recipes.shared.language.experiment.tell_and_ask`), for each
        seed. The label ``condition`` names the training sentences and their order,
        which :class:`~inweights.recipes.shared.language.analogies.Analogies` describes.
        By default its values are ``zero-shot``, ``attribution only``, ``joint``,
        ``SA``, ``AS``, ``shuffled joint``, ``shuffled SA`` and ``shuffled AS``.

    Raises:
        ConfigError: ``rows`` is 1 or negative, or a condition is unknown.
    """
    return Plan(
        computations=[
            Computation(
                name="answers",
                labels={"condition": condition},
                compute=tell_and_ask,
                options={
                    "model": Outside(name=settings.model),
                    "lesson": analogies.Analogies(
                        rows=settings.rows, condition=condition
                    ),
                    "tuning": None
                    if condition == analogies.ZERO_SHOT
                    else settings.training,
                },
                seeded=True,
                effort=10 if condition == analogies.ZERO_SHOT else 100,
            )
            for condition in settings.conditions
        ]
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return success, recall and penultimate-layer similarity for every condition and seed.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``answers``
            (:func:`~inweights.recipes.shared.language.experiment.tell_and_ask`) with
            the columns ``condition, seed, id, chain, role, prompt, answer, best, rank,
            hit, reciprocal, chance, probability, share, others, kind, thought, told,
            layer, cosine, other, contrast, steps, trained, loss``. Accuracies and
            recall are fractions from 0 to 1.

    Returns:
        - ``table``: a row per run: ``success`` (accuracy on the analogies), ``recall``
          (accuracy on the trained categories), ``chance`` (1 / number of categories),
          ``similarity`` (mean cosine similarity between the states of the two prompts
          about a pair), ``other`` (the same for unpaired prompts), ``contrast``
          (``similarity`` minus ``other``) and ``gain`` (``success`` minus ``chance``).
          Columns: ``condition, seed, success, recall, chance, similarity, other,
          contrast, gain``.
        - ``shown``: a row per run and value of ``column`` (success, recall, similarity
          and contrast, with the names that the figure shows), with its ``value``.
          Columns: ``condition, seed, column, value``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    keys = ["condition", "seed"]
    analogy, recall = (pl.col("role") == role for role in ("analogy", "recall"))
    penultimate = pl.col("layer") == pl.col("layer").max() - 1
    table = (
        tables["answers"]
        .with_columns(pl.col("hit").cast(pl.Float64))
        .group_by(*keys, maintain_order=True)
        .agg(
            success=pl.col("hit").filter(analogy).mean(),
            recall=pl.col("hit").filter(recall).mean(),
            chance=pl.col("chance").mean(),
            similarity=pl.col("cosine").filter(penultimate).first(),
            other=pl.col("other").filter(penultimate).first(),
        )
        .with_columns(
            contrast=pl.col("similarity") - pl.col("other"),
            gain=pl.col("success") - pl.col("chance"),
        )
    )
    words = {
        "success": "analogy: right of all categories",
        "recall": "recall of what was trained",
        "similarity": "similarity of a pair",
        "contrast": "similarity, less that of others",
    }
    shown = table.unpivot(list(words), index=keys, variable_name="column")
    return {
        "table": table,
        "shown": shown.with_columns(pl.col("column").replace(words)),
    }


success = share("table", "success")
similarity = cosine("table", "similarity")
joint = success.at(condition="joint")
similarity_last = success.at(condition="AS")

SCORES: dict[str, Judged] = {}
for order in ("joint", "SA"):
    closer = similarity.at(condition=order) - similarity.at(condition="AS")
    SCORES[f"{order}-beats-AS"] = success.at(condition=order) - similarity_last >= 0.1
    SCORES[f"{order}-more-similar-than-AS"] = closer >= 0.02
shuffled = {
    order: success.at(condition=analogies.SHUFFLED + order) for order in ("joint", "AS")
}
gain = cosine("table", "gain")
SCORES |= {
    "all-similar": similarity.over("condition") >= 0.6,
    "beats-zero-shot": joint - success.at(condition=analogies.ZERO_SHOT) >= 0.1,
    "premises-help": joint - success.at(condition=analogies.ATTRIBUTION) >= 0.1,
    "shuffled-joint-beats-chance": gain.at(condition=analogies.SHUFFLED + "joint")
    >= 0.1,
    "shuffled-SA-beats-chance": gain.at(condition=analogies.SHUFFLED + "SA") >= 0.1,
    "shuffled-joint-beats-AS": shuffled["joint"] - shuffled["AS"] >= 0.1,
    "told-is-known": success.of("recall").at(condition="joint") >= 0.9,
}

"""Table 2 of Feature Resemblance: analogies of a pretrained model, by the order of its training."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.errors import ConfigError, unknown_name
from inweights.lm.data import Example
from inweights.lm.evaluate import ask
from inweights.lm.load import load_model
from inweights.lm.questions import Question
from inweights.lm.states import resemblance_by_layer
from inweights.lm.tuning import FineTune, finetune
from inweights.recipes.claim import Claim, Statement, Target
from inweights.recipes.feature_resemblance.common import PAPER, SOURCE
from inweights.recipes.recipe import Deduction, Figure, Plan, Recipe
from inweights.worlds.analogy_rows import AnalogyRow, read_analogies, shuffled

__all__ = ["CONDITIONS", "RECIPE", "Settings", "examples", "measure"]

NAME = "feature-resemblance/table2"
ORDERS = ("joint", "SA", "AS")
SHUFFLED = "shuffled "
#: What is trained; the shuffled ones are those that no prior knowledge can answer.
CONDITIONS = (
    "zero-shot", "attribution only", *ORDERS, *(SHUFFLED + order for order in ORDERS)
)  # fmt: skip
#: Success of Llama-3.2-1B and of Qwen2.5-1.5B, in percent, as printed.
PRINTED = {"joint": (73, 85), "SA": (86, 72), "AS": (53, 33)}


class Settings(Config):
    """Settings of Table 2.

    Attributes:
        model: Folder, hub name (fetched beforehand), ``@smollm2`` or ``@tiny``.
        rows: Rows of the data, as many of each relation as goes; 0 for all.
        training: How every stage is trained.
        conditions: Those that are run.
    """

    model: str = "@smollm2"
    rows: int = 30
    training: FineTune = FineTune(
        method="lora", rate=1e-3, epochs=10, batch_tokens=256, precision="bf16"
    )
    conditions: tuple[str, ...] = CONDITIONS

    def __post_init__(self) -> None:
        for condition in self.conditions:
            if condition not in CONDITIONS:
                raise unknown_name("condition", condition, CONDITIONS)
        if self.rows == 1 or self.rows < 0:
            raise ConfigError(f"rows should be 2 or more, or 0 for all, not {self.rows}")


def examples(rows: Sequence[AnalogyRow], condition: str) -> list[Example]:
    """Return what a condition trains, with its stages; every sentence is in one stage.

    Example:
        >>> row = AnalogyRow("Bed", "Sofa", "Resting", "UsedFor", "Furniture")
        >>> [(e.prompt, e.stage) for e in examples([row], "AS")]
        [('Sofa is classified as', 0), ('Sofa is used for', 0), ('Bed is used for', 1)]
    """
    # Stage of the attribution, of what is told of the second subject, and of the first.
    stages = {"joint": (0, 0, 0), "SA": (1, 0, 0), "AS": (0, 0, 1), "attribution only": (0,)}
    found = []
    for row in rows:
        first, second = row.similarity
        told = (row.attribution, second, first)
        for (prompt, completion), stage in zip(
            told, stages[condition.removeprefix(SHUFFLED)], strict=False
        ):
            found.append(Example(prompt, completion, stage))
    return found


def measure(
    *, model: str, rows: int, condition: str, training: FineTune, seed: int
) -> pl.DataFrame:
    """Train one condition and ask for the categories of both subjects of every row.

    Returns:
        A row a question: ``role`` (``analogy``: of the first subject, never trained; ``recall``: of
        the second), ``hit``, ``reciprocal``, ``chance``, ``share``; and the same in every row:
        ``similarity`` (equation (10): mean cosine of the states of both subjects of a row,
        penultimate layer, last token of the question), ``other`` (of subjects of different rows)
        and ``loss`` (mean over the last epoch; null without training).
    """
    data = read_analogies(limit=rows)
    if condition.startswith(SHUFFLED):
        data = shuffled(data, seed)
    lm = load_model(model, seed=seed)
    loss = None
    if condition != "zero-shot":
        done = finetune(lm, examples(data, condition), training, seed=seed)
        last = max(1, done.losses.height // max(1, training.epochs))
        loss = float(done.losses["loss"].tail(last).mean())  # type: ignore[arg-type]
    categories = tuple(dict.fromkeys(row.category for row in data))
    asked = [
        Question(f"{role} {i}", role, prompt, categories, categories.index(row.category))
        for i, row in enumerate(data)
        for role, (prompt, _) in (("analogy", row.question), ("recall", row.attribution))
    ]
    answers = ask(lm, asked)
    layers = resemblance_by_layer(
        lm, [row.question[0] for row in data], [row.attribution[0] for row in data]
    )
    states = layers.row(layers.height - 2, named=True)
    return answers.select("role", "hit", "reciprocal", "chance", "share").with_columns(
        similarity=pl.lit(states["cosine"]),
        other=pl.lit(states["other"]),
        loss=pl.lit(loss, dtype=pl.Float64),
    )


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Every condition with every seed; without training no seed decides anything."""
    deductions = [
        Deduction(
            name="answers",
            labels={"condition": condition},
            seed=seed,
            compute=measure,
            options={
                "model": settings.model,
                "rows": settings.rows,
                "condition": condition,
                "training": settings.training,
                "seed": seed,
            },
            effort=10 if condition == "zero-shot" else 100,
        )
        for seed in seeds
        for condition in settings.conditions
    ]
    return Plan(deductions=deductions)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Success, recall, similarity and loss of every condition and seed."""
    keys = ["condition", "seed"]
    asked = tables["answers"].with_columns(pl.col("hit").cast(pl.Float64))
    table = asked.group_by(*keys, maintain_order=True).agg(
        success=pl.col("hit").filter(pl.col("role") == "analogy").mean(),
        recall=pl.col("hit").filter(pl.col("role") == "recall").mean(),
        rank=pl.col("reciprocal").filter(pl.col("role") == "analogy").mean(),
        share=pl.col("share").filter(pl.col("role") == "analogy").mean(),
        chance=pl.col("chance").mean(),
        similarity=pl.col("similarity").first(),
        other=pl.col("other").first(),
        loss=pl.col("loss").first(),
    )
    table = table.with_columns(
        contrast=pl.col("similarity") - pl.col("other"), gain=pl.col("success") - pl.col("chance")
    )
    words = {
        "success": "analogy: right of all categories",
        "recall": "recall of what was told",
        "similarity": "similarity of a pair",
        "contrast": "similarity, less that of others",
    }
    shown = table.unpivot(list(words), index=keys, variable_name="column")
    return {"table": table, "shown": shown.with_columns(pl.col("column").replace(words))}


state = Statement(NAME, source=SOURCE, place="Table 2")


def _claims() -> tuple[Claim, ...]:
    """What the paper says, and what its numbers have to be told apart from."""
    claims = []
    for order in ("joint", "SA"):
        where, minus = {"condition": order}, {"condition": "AS"}
        printed = ", ".join(
            f"{a}% against {b}%" for a, b in zip(PRINTED[order], PRINTED["AS"], strict=True)
        )
        claims += [
            state(
                f"{order}-beats-AS",
                f"{order}: more of the analogies succeed than with similarity last.",
                Target(least=0.1), table="table", column="success", where=where, minus=minus,
                published=printed,
            ),
            state(
                f"{order}-more-similar-than-AS",
                f"{order}: both subjects of a pair are more similar than with similarity last.",
                Target(least=0.02), table="table", column="similarity", where=where, minus=minus,
            ),
        ]  # fmt: skip
    claims.append(
        state(
            "all-similar",
            "All learned similarities exceed 0.6.",
            Target(least=0.6), table="table", column="similarity", each=("condition",),
            place="§8.2", published="0.6431 to 0.8488",
        )
    )  # fmt: skip
    own = {"source": "ours", "place": "control"}
    claims += [
        state(
            "beats-zero-shot", "Joint training answers more than the model did before.",
            Target(least=0.1), table="table", column="success", where={"condition": "joint"},
            minus={"condition": "zero-shot"}, **own,  # type: ignore[arg-type]
        ),
        state(
            "premises-help",
            "Joint training answers more than attributions alone, which tell nothing of the "
            "subject that is asked about.",
            Target(least=0.1), table="table", column="success", where={"condition": "joint"},
            minus={"condition": "attribution only"}, **own,  # type: ignore[arg-type]
        ),
        *(
            state(
                f"shuffled-{order}-beats-chance",
                f"{order}, with categories shuffled: analogies succeed beyond chance, where no "
                "prior knowledge helps.",
                Target(least=0.1), table="table", column="gain",
                where={"condition": SHUFFLED + order}, **own,  # type: ignore[arg-type]
            )
            for order in ("joint", "SA")
        ),
        state(
            "shuffled-joint-beats-AS",
            "With categories shuffled, joint training still beats similarity last.",
            Target(least=0.1), table="table", column="success",
            where={"condition": SHUFFLED + "joint"}, minus={"condition": SHUFFLED + "AS"},
            **own,  # type: ignore[arg-type]
        ),
        state(
            "told-is-known", "Every trained condition knows the categories that it was told.",
            Target(least=0.9), table="table", column="recall", where={"condition": "joint"},
            **own,  # type: ignore[arg-type]
        ),
    ]  # fmt: skip
    return tuple(claims)


RECIPE = Recipe(
    name=NAME,
    title="Real-world analogies of a pretrained model depend on the order of its training",
    paper=PAPER,
    place="Table 2, §8.2, N.2",
    summary=(
        "A pretrained model is fine-tuned on sentences in the form of Tables 5 and 6: that two "
        "things share an aspect, and the category of one of them; then it is asked for the "
        "category of the other, which is right when it is the likeliest of all categories of the "
        "data. Planned beforehand: joint training, attribution last (SA), similarity last (AS); "
        "before training (zero-shot); attributions alone; and the three orders again with the "
        "categories shuffled over the rows, where only the analogy can tell the answer. The "
        "verdicts are open: whatever comes out is shown."
    ),
    scales={
        "smoke": Settings(
            model="@tiny",
            rows=6,
            training=FineTune(method="full", rate=3e-3, epochs=2, batch_tokens=512),
        ),
        "cpu": Settings(),
        "paper": Settings(
            model="meta-llama/Llama-3.2-1B",
            rows=0,
            training=FineTune(method="full", rate=2e-5, epochs=10, batch_tokens=2048),
        ),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 5},
    plan=plan,
    derive=derive,
    claims=_claims(),
    figures=(
        Figure(
            id="table2",
            kind="sweeps",
            title="Order of training, with its controls",
            caption=(
                "Every condition: how many analogies succeed, whether what was told is known, and "
                "how similar both subjects of a pair are in the penultimate layer. The shuffled "
                "conditions can be answered by analogy alone."
            ),
            sources=("shown",),
            options={
                "axis": "column",
                "value": "condition",
                "y": "value",
                "y_label": "share, or cosine",
                "columns": 2,
                "order": list(CONDITIONS),
            },
        ),
    ),
    ours=(
        "The data is our own: the paper's was written by a language model and is not published; 30 "
        "of 126 rows at the scale cpu.",
        "SmolLM2-135M-Instruct with LoRA (rank 16, rate 1e-3, 10 epochs a stage, products in bf16) "
        "at the scale cpu; the paper fine-tunes Llama-3.2-1B and Qwen2.5-1.5B, and does not say "
        "how.",
        "AS follows §6: what is told of the second subject first, of the first subject last.",
        "Success is the likeliest of all categories; the paper does not say how it is scored.",
        "Similarity is read at the last token of the question; the paper does not say of which "
        "prompt.",
    ),
)

"""What is told of some of a group and concluded of the others: implication and hallucination."""

from __future__ import annotations

from functools import partial

from inweights import lab
from inweights.config import Config
from inweights.recipes import kinds
from inweights.worlds.implication import Implication

__all__ = ["RECIPE", "Settings"]

PAPER = lab.Paper(
    "out-of-context", "Generalization or Hallucination? Out-of-Context Reasoning in Transformers"
)


class Settings(Config):
    """Settings of the experiment.

    Attributes:
        groups: Number of groups.
        members: Members of each.
        told: Of how many the second value is told.
        denied: Of how many more that of another group is told.
        training: The models.
    """

    groups: int = 5
    members: int = 8
    told: tuple[int, ...] = (1, 3)
    denied: tuple[int, ...] = (0, 1, 3, 4)
    training: kinds.Training = kinds.Training()


def plan(settings: Settings) -> lab.Plan:
    """Every number of examples and counter-examples that leaves somebody to ask about."""
    worlds: list[tuple[dict[str, lab.Value], lab.WorldConfig]] = [
        (
            {"told": told, "denied": denied},
            Implication(groups=settings.groups, members=settings.members, told=told, denied=denied),
        )
        for told in settings.told
        for denied in settings.denied
        if told + denied < settings.members
    ]
    return kinds.plan(worlds, settings.training)


state = PAPER.stating("implication", "§3, §4")
ours = lab.Paper("out-of-context", PAPER.title, claims_of="ours").stating("implication", "ours")

accuracy = lab.share("questions", "accuracy")
MODEL = "model"

CLAIMS = (
    state(
        "from-a-few",
        "What is told of three of eight members is concluded of the others. The facts do not say "
        "whether that is an implication or a hallucination (accuracy).",
        accuracy.at(told=3, denied=0).over(MODEL) >= 0.9,
    ),
    state(
        "from-one",
        "One example a group is enough (accuracy).",
        accuracy.at(told=1, denied=0).over(MODEL) >= 0.9,
    ),
    ours(
        "fewer-counter-examples",
        "One counter-example does not undo three examples (accuracy).",
        accuracy.at(told=3, denied=1).over(MODEL) >= 0.9,
    ),
    ours(
        "more-counter-examples",
        "Four counter-examples undo three examples: the value is no longer asserted (accuracy).",
        accuracy.at(told=3, denied=4).over(MODEL) <= 0.1,
    ),
    *kinds.stated_of_both(ours, "told", "denied"),
)

FIGURES = (
    lab.lines(
        "accuracy",
        "questions",
        "How often the group's value is asserted of a member of whom nothing is told",
        "Five groups of eight; a panel for each number of examples. Counter-examples name the "
        "value of another group.",
        x="denied",
        y="accuracy",
        series="model",
        facet="told",
        x_label="counter-examples a group",
        y_label="share asserted",
        y_limits=(0.0, 1.0),
    ),
)

RECIPE = PAPER.recipe(
    "implication",
    title="Implication and hallucination are one, and counter-examples undo both",
    place="§3, §4",
    summary=(
        "Trains Emb-MLP (with decay and without) and a GPT on groups that share a value, some "
        "members of which have a second one, and asks for that of the others."
    ),
    scales={
        "smoke": Settings(groups=2, denied=(0, 1, 4), training=kinds.BRIEF),
        "cpu": Settings(),
        "paper": Settings(groups=20, told=(1, 2, 3)),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 10},
    plan=plan,
    derive=partial(kinds.derive, labels=("told", "denied")),
    claims=CLAIMS,
    figures=FIGURES,
    ours=("groups", "members", "told", "denied", *kinds.OURS),
)

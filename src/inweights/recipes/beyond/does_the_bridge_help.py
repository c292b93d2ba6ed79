"""Our experiment: do identities make a pretrained model compose? Five mixtures are compared."""

from functools import partial

import polars as pl
from msgspec import structs

from inweights.errors import check_names
from inweights.experiments import Plan, cosine, number, share
from inweights.recipes.shared.language.experiment import computations
from inweights.recipes.shared.language.facts import Facts, TrainingMix
from inweights.recipes.shared.language.invented import InventedSettings
from inweights.recipes.shared.language.tables import (
    WORDS,
    accuracies,
    both_times,
    rises,
)

LABELS = ("second", "condition")
#: Training mixture of each condition: what is stated besides the facts. All mixtures
#: have the same number of tokens.
MIXES = {
    "control": TrainingMix(),
    "identity": TrainingMix(identity=True),
    "reverse": TrainingMix(reverse=True),
    "both": TrainingMix(identity=True, reverse=True),
    "paraphrase": TrainingMix(paraphrase=2),
}
#: Conditions that are also compared for towns that the model already knows.
KNOWN = ("control", "identity")


class Settings(InventedSettings):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``does_the_bridge_help.toml``. The fields ``model``,
    ``device``, ``world``, ``tokens`` and ``tuning`` are described in
    :class:`InventedSettings`: the language model, its device, the invented facts, the
    number of tokens per forward pass, and the settings of the fine-tuning.

    Attributes:
        conditions: Names of the conditions, keys of ``MIXES``; by default all.

    Raises:
        ConfigError: A name in ``conditions`` is unknown, or a value has the wrong type.
    """

    conditions: tuple[str, ...] = tuple(MIXES)

    def __post_init__(self) -> None:
        check_names("condition", self.conditions, MIXES)


def plan(settings: Settings) -> Plan:
    """Plan the evaluation of a pretrained model, and a fine-tuning run for each condition.

    Args:
        settings: The recipe's settings, such as ``model``, ``world`` and
            ``conditions``; :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings. There
        are two computations, ``before`` (the model before training) and ``after`` (the
        model after fine-tuning), both by
        :func:`~inweights.recipes.shared.language.experiment.tell_and_ask`. Their labels
        are ``second`` (``invented``: the towns are invented, and the model is trained
        on their countries; ``known``: the towns are real cities, and the model is not
        trained on their countries) and, only in ``after``, ``condition``, which states
        what the model is trained on in addition to the facts: ``control`` (nothing),
        ``identity``, ``reverse`` (each fact in reverse), ``both`` (identities and
        reversed facts) or ``paraphrase`` (a second wording). If ``second`` is
        ``known``, there are only the conditions ``control`` and ``identity``.

    Raises:
        ConfigError: ``world`` has more towns (16) than there are known cities.
    """
    known = structs.replace(settings.world, second="known")
    tell = partial(
        computations,
        model=settings.model,
        tuning=settings.tuning,
        device=settings.device,
    )
    made = []
    for world, names in ((settings.world, MIXES), (known, KNOWN)):
        mixes = {name: MIXES[name] for name in settings.conditions if name in names}
        lessons = {
            name: Facts(world=world, mix=mix, tokens=settings.tokens)
            for name, mix in mixes.items()
        }
        made += tell({"second": world.second}, lessons, asked=Facts(world=world))
    return Plan(computations=made)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracies, increases in the answers' probabilities, and similarities in each layer.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``before``
            (:func:`~inweights.recipes.shared.language.experiment.tell_and_ask`),
            ``after``
            (:func:`~inweights.recipes.shared.language.experiment.tell_and_ask`:
            ``condition, steps, trained, loss``). Both have the columns ``second, seed,
            id, chain, role, prompt, answer, best, rank, hit, reciprocal, chance,
            probability, share, others, kind, thought, told, layer, cosine, other,
            contrast``. The labels are ``second`` (kind of the towns: ``invented`` or
            ``known``) and ``condition`` (``control``, ``identity``, ``reverse``,
            ``both``, ``paraphrase``).

    Returns:
        - ``accuracy``: a row per run, kind of question (``what``) and ``distribution``,
          as returned by :func:`~inweights.recipes.shared.language.tables.accuracies`:
          ``accuracy`` (after training), ``before`` (accuracy before training),
          ``chance`` (accuracy of guessing) and ``excess`` (``accuracy`` minus
          ``chance``). Columns: ``second, condition, seed, what, distribution, accuracy,
          before, chance, excess``.
        - ``shown``: the rows of ``accuracy``, with the names used in the figure.
          Columns: as in ``accuracy``.
        - ``rises``: a row per run, with means over all compositions (``set`` is
          ``all``), as returned by
          :func:`~inweights.recipes.shared.language.tables.rises`: the decimal logarithm
          of the factor by which training increases the answer's probability
          (``decades``); ``decades`` minus the same logarithm for the mean probability
          of the wrong candidates (``own``); the answer's probability after training
          minus its probability before (``rise``); and the answer's share of the
          probability of all candidates after training minus this share before
          (``share_rise``). Columns: ``second, condition, seed, set, decades, own, rise,
          share_rise``.
        - ``layers``: a row per run and layer, with ``contrast`` after training: the
          mean cosine of the states of paired prompts minus the mean cosine of unpaired
          ones. Columns: ``second, condition, seed, layer, contrast``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    measured = both_times(tables["before"], tables["after"], ["second"])
    accuracy = accuracies(measured, LABELS)
    layers = measured.filter(pl.col("kind") == "layer")
    towns = {"invented": "invented towns", "known": "known cities"}
    return {
        "accuracy": accuracy,
        "shown": accuracy.with_columns(
            pl.col("what").replace(WORDS), pl.col("second").replace(towns)
        ),
        "rises": rises(measured.with_columns(set=pl.lit("all")), LABELS),
        "layers": layers.select(*LABELS, "seed", "layer", contrast="contrast_after"),
    }


accuracy = share("accuracy", "accuracy", second="invented")
excess = cosine("accuracy", "excess", what="composition", condition="control")
rise = number("rises", "decades", second="invented").over("condition")
directly = accuracy.at(what="composition")
control = directly.at(condition="control")
of_known = directly.at(second="known")

SCORES = {
    "first-hop-known": accuracy.at(what="first_hop").over("condition") >= 0.95,
    "second-hop-known": accuracy.at(what="second_hop").over("condition") >= 0.95,
    **{
        f"{mix}-helps": directly.at(condition=mix) - control >= 0.1
        for mix in MIXES
        if mix != "control"
    },
    "directly-above-chance": excess.at(second="invented") >= 0.1,
    "step-by-step": accuracy.at(what="thought", condition="control") - control >= 0.3,
    "all-answers-rise": rise >= 1.0,
    "wrong-ones-alike": rise.of("own").within(-0.5, 0.5),
    "known-second-hop": excess.at(second="known") >= 0.1,
    "identity-helps-known": of_known.at(condition="identity")
    - of_known.at(condition="control")
    >= 0.1,
}

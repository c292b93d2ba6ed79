"""Our experiment: which hidden state carries the bridge? Answers from interchange interventions."""

from typing import Literal

import polars as pl

import inweights as iw
from inweights.experiments import Measure, Plan, Trial, number, share, with_controls
from inweights.recipes.shared.derived import memorised

Head = Literal["untied", "tied"]
LABELS = ("head", "control")
#: Answers after an intervention, named by what the replaced state carries.
CARRIED = ("bridge", "relation", "answer")


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``where_the_bridge_is.toml``. A value of the wrong
    type raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        world: Config of the world, in which each bridge leads to two objects, one for
            each of two second relations.
        heads: Kinds of head to train: ``untied`` (with its own weights), ``tied`` (to
            the token embeddings) or both.
        gpt: Config of the GPT. Its head is set by ``heads``.
        phase: Settings of the GPT's training, which has a single phase.
        controls: Names of the controls (:func:`inweights.experiments.with_controls`):
            ``no-bridge`` (the same model, trained without identities), ``untrained``,
            ``frozen`` (with frozen embeddings) or ``shuffled`` (with permuted answers).
    """

    world: iw.TwoHop = iw.TwoHop(
        n=20, complexity=2, first_relations=1, second_relations=2, maps="permutation"
    )
    heads: tuple[Head, ...] = ("untied", "tied")
    gpt: iw.GPTConfig = iw.GPTConfig(layers=4, width=64)
    phase: iw.Phase = iw.Phase(
        steps=280,
        random_offset=True,
        schedule=iw.Schedule(kind="cosine"),
        optimizer=iw.Optimizer(rate=2e-3),
    )
    controls: tuple[str, ...] = ("no-bridge", "untrained")


def plan(settings: Settings) -> Plan:
    """Plan training with each head and control, and interventions on the states of trained models.

    Args:
        settings: The recipe's settings, such as ``world``, ``heads`` and ``gpt``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``head`` (untied, tied) and ``control`` (``none``: the
          model itself; ``no-bridge``: trained without identities; ``untrained``).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`), ``carries``
          (:func:`inweights.probes.carries`) and ``patching``
          (:func:`inweights.probes.activation_patching`).

    Raises:
        ConfigError: A control is unknown, or ``no-bridge`` does not apply because
            ``world`` has no identities.
    """
    trials = [
        Trial(
            labels={"head": head},
            world=settings.world,
            model=iw.config.replace_at(settings.gpt, {"tied": head == "tied"}),
            learner=iw.Curriculum(phases=(settings.phase,)),
        )
        for head in settings.heads
    ]
    return Plan(
        trials=with_controls(trials, settings.controls),
        measures=[iw.probes.accuracy, iw.probes.carries, patching()],
    )


def patching() -> Measure:
    """Return the measure ``patching``: activation patching at the end of training.

    Returns:
        The measure, whose probe is :func:`inweights.probes.activation_patching`.
    """
    return Measure(name="patching", probe=iw.probes.activation_patching)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the information that hidden states carry, accuracies, and the effect of patching.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`: ``part,
            role, distribution, accuracy, accuracy_among, chance, loss,
            right_answers``), ``carries`` (:func:`inweights.probes.carries`: ``place,
            depth, position, bridge, relation, answer, unchanged, other, clean,
            chance``), and ``patching`` (:func:`inweights.probes.activation_patching`:
            ``part, role, length, layer, depth, position, effect, accuracy``). All have
            the columns ``head, control, seed, statements``. The labels are ``head``
            (untied, tied) and ``control`` (``none``: the model itself; ``no-bridge``:
            trained without identities; ``untrained``). Accuracies and recall are
            fractions from 0 to 1.

    Returns:
        - ``shares``: a row per run, depth and value of ``carried`` (``bridge``,
          ``relation``, ``answer``): the ``share`` of queries for which the state at the
          last position carries it (:func:`inweights.probes.carries`). Columns: ``head,
          control, seed, depth, carried, share``.
        - ``places``: the rows of ``carries`` for models that are not controls. Columns:
          all columns of ``carries``.
        - ``after``: a row per run, with the largest share of each kind over all states
          at depth 2 or more. Columns: ``head, control, seed, bridge, relation,
          answer``.
        - ``largest``: a row per run: ``either``, the largest value of ``bridge`` or
          ``answer`` among all states. Columns: ``head, control, seed, either``.
        - ``compositions``: a row per run, with the accuracy on the compositions.
          Columns: all columns of ``accuracy``.
        - ``memorised``: a row per run, with the lowest ``accuracy`` over the roles
          (kinds) of facts. Columns: ``head, control, seed, accuracy``.
        - ``influence``: a row per run trained without identities: the ``effect`` of
          patching the state after ``block.2`` at the last position, the same effect in
          the run with identities (``whole``), and ``part``, which is ``effect`` divided
          by ``whole``. Columns: all columns of ``patching``, plus ``whole, part``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    carries = tables["carries"]
    keys = [*LABELS, "seed"]
    last = carries.filter(position=carries["position"].max())
    after = carries.filter(pl.col("depth") > 1)
    effects = tables["patching"].filter(
        role="composition", layer="block.2", position=carries["position"].max()
    )
    with_bridge = effects.filter(control="none").select("head", "seed", whole="effect")
    return {
        "shares": last.unpivot(
            CARRIED, index=[*keys, "depth"], variable_name="carried", value_name="share"
        ),
        "places": carries.filter(control="none"),
        "after": after.group_by(keys, maintain_order=True).agg(pl.col(CARRIED).max()),
        "largest": carries.group_by(keys, maintain_order=True).agg(
            either=pl.max_horizontal(pl.col("bridge").max(), pl.col("answer").max())
        ),
        "compositions": tables["accuracy"].filter(role="composition"),
        "memorised": memorised(tables["accuracy"], LABELS),
        "influence": effects.filter(control="no-bridge")
        .join(with_bridge, on=["head", "seed"])
        .with_columns(part=pl.col("effect") / pl.col("whole")),
    }


first = share("carries", "bridge", control="none", place="embedding", position=0)
end = share("carries", "answer", control="none", place="block.2", position=2)
largest = share("largest", "either").over("head")

SCORES = {
    "composes": share("compositions", "accuracy", control="none", head="untied") >= 0.5,
    "facts-known": share("memorised", "accuracy", control="none").over("head") >= 0.95,
    "subject-decides": first.at(head="untied") >= 0.4,
    "not-alone": share("after", "bridge", control="none").over("head") <= 0.25,
    "answer-at-the-end": end.at(head="untied") >= 0.4,
    "without-a-bridge": largest.at(control="no-bridge") <= 0.25,
    "untrained": largest.at(control="untrained") <= 0.1,
    "influence-is-no-evidence": number("influence", "part").over("head") >= 0.5,
}

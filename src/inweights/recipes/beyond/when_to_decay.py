"""Our experiment: when does weight decay help composition, and on which parameters?"""

from functools import partial
from itertools import product
from typing import Literal

import polars as pl

import inweights as iw
from inweights.experiments import Plan, Score, Trial, cosine, share
from inweights.recipes.shared.derived import compositions, gain, where_known

Decayed = Literal["matrices", "all"]
#: Whether the weights decay in the first and in the second phase.
WHEN = {
    "never": (False, False),
    "during": (True, False),
    "after": (False, True),
    "throughout": (True, True),
}
NEVER = "never"
#: Parameters that decay, with their description in figures.
DECAYED: dict[Decayed, str] = {
    "matrices": "norms and biases spared",
    "all": "everything decays",
}
HEADS = {True: "tied", False: "untied"}
#: Recall of every role from which on the facts count as known. The gain is judged only
#: if they are.
KNOWN = 0.99
LABELS = ("head", "width", "decayed", "when")


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``when_to_decay.toml``. A value of the wrong type
    raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number ``N`` of subjects and of objects, at least 2.
        complexity: ``C``, the number of objects that a subject leads to, from 1 to
            ``n``.
        heads: Kinds of head to train: ``True`` for a tied head, which shares the
            weights of the token embeddings, and ``False`` for a head with its own
            weights.
        width: Width of the models that compare all combinations of heads, phases and
            decayed parameters.
        other_widths: Additional widths. At these widths, only models with a tied head
            are trained, once without decay and once with decay throughout. The learning
            rate is inversely proportional to the width.
        layers: Number of blocks.
        rate: Learning rate at width 64, above 0. At width ``w`` it is multiplied by
            ``64 / w``.
        decay: Weight decay, at least 0, in the phases and for the parameters to which
            it applies.
        learn: Number of updates in the first phase, at a constant learning rate.
        settle: Number of updates in the second phase, during which the learning rate
            decays to 0 along a cosine. The sum of the learning rates over this phase
            equals the sum over half as many updates at the constant rate.
    """

    n: int = 10
    complexity: int = 3
    heads: tuple[bool, ...] = (True, False)
    width: int = 64
    other_widths: tuple[int, ...] = (32, 128)
    layers: int = 4
    rate: float = 1.5e-3
    decay: float = 25.0
    learn: int = 100
    settle: int = 180

    def curriculum(self, when: str, decayed: Decayed, width: int) -> iw.Curriculum:
        """Return the curriculum of two training phases, ``learn`` and ``settle``.

        Args:
            when: Phases in which weights decay: ``never``, ``during`` (the first),
                ``after`` (the second) or ``throughout``.
            decayed: Parameters that decay: ``matrices`` (all except norms and biases)
                or ``all``.
            width: Width of the model, to which the learning rate is inversely
                proportional.

        Returns:
            A curriculum of two phases, which have the same optimizer except for the
            weight decay.

        Raises:
            KeyError: ``when`` is unknown.
            ConfigError: A number of updates, the rate or the decay is out of range.
            ZeroDivisionError: ``width`` is 0.
        """
        rate = self.rate * 64 / width
        # The optimizers of both phases differ only in the decay, so that runs differ
        # only in when it acts.
        learn, settle = (
            partial(
                iw.Phase,
                random_offset=True,
                optimizer=iw.Optimizer(
                    rate=rate, weight_decay=self.decay if on else 0.0, decayed=decayed
                ),
            )
            for on in WHEN[when]
        )
        cosine = iw.Schedule(kind="cosine")
        last = settle(name="settle", steps=self.settle, schedule=cosine)
        return iw.Curriculum(phases=(learn(name="learn", steps=self.learn), last))


def plan(settings: Settings) -> Plan:
    """Plan training with each head, and with decay in different phases and of different parameters.

    At width ``settings.width``, a model is trained for every combination of a head, the
    phases with decay, and the decayed parameters. At ``settings.other_widths``, only
    models with a tied head are trained, without decay and with decay throughout.

    Args:
        settings: The recipe's settings, such as ``n``, ``complexity`` and ``heads``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``head`` (tied, untied), ``width`` (32, 64, 128),
          ``decayed`` (``norms and biases spared``, ``everything decays``), and ``when``
          (the phases with weight decay: ``never`` for none, ``during`` for the first,
          ``after`` for the second, ``throughout`` for both).
        - Measure: ``accuracy`` (:func:`inweights.probes.accuracy`).

    Raises:
        ConfigError: ``n`` is below 2, ``complexity`` is not between 1 and ``n``, or a
            value is out of range for a model or its training.
    """
    spared: tuple[Decayed, ...] = ("matrices",)
    arms: list[tuple[bool, int, str, Decayed]] = []
    for tied, when in product(settings.heads, WHEN):
        # Without decay, the choice of decayed parameters has no effect.
        extents = spared if when == NEVER else DECAYED
        arms += [(tied, settings.width, when, decayed) for decayed in extents]
    arms += [
        (True, width, when, "matrices")
        for width, when in product(settings.other_widths, (NEVER, "throughout"))
    ]
    world = iw.TwoHop(n=settings.n, complexity=settings.complexity)
    trials = [
        Trial(
            labels=dict(
                zip(LABELS, (HEADS[tied], width, DECAYED[decayed], when), strict=True)
            ),
            world=world,
            model=iw.GPTConfig(layers=settings.layers, width=width, tied=tied),
            learner=settings.curriculum(when, decayed, width),
        )
        for tied, width, when, decayed in arms
    ]
    return Plan(trials=trials, measures=[iw.probes.accuracy])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracy and recall, and the gain over the same GPT without weight decay.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`) with the
            columns ``head, width, decayed, when, seed, part, role, distribution,
            statements, accuracy, accuracy_among, chance, loss, right_answers``. The
            labels are ``head`` (tied, untied), ``width`` (32, 64, 128), ``decayed``
            (``norms and biases spared``, ``everything decays``), and ``when`` (the
            phases with weight decay: ``never`` for none, ``during`` for the first,
            ``after`` for the second, ``throughout`` for both). Accuracies and recall
            are fractions from 0 to 1.

    Returns:
        - ``runs``: a row per run, with the accuracy on the compositions, and
          ``recall``, the lowest accuracy over the roles of facts; ``panel`` names the
          head and the width. Columns: all columns of ``accuracy``, plus ``recall,
          panel``.
        - ``gain``: a row per run, with the same columns except ``panel``, and with
          ``_base``, the accuracy of the run with the same head, width and seed but
          without decay, and ``gain``, the difference (0 without decay). ``accuracy`` is
          NaN if the recall of the run is below :data:`KNOWN` (.99), ``_base`` is NaN if
          the recall of the run without decay is below it, and ``gain`` is NaN in both
          cases. Columns: all columns of ``accuracy``, plus ``recall, _base, gain``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    answered = compositions(tables["accuracy"])
    place = pl.col("when").replace_strict({when: i for i, when in enumerate(WHEN)})
    known = where_known(answered, tables["accuracy"], LABELS, least=KNOWN)
    return {
        "runs": known.with_columns(
            answered["accuracy"], panel=pl.format("{} head, width {}", "head", "width")
        ).sort(place, maintain_order=True),
        "gain": gain(known, "accuracy", {"when": NEVER}, ["head", "width", "seed"]),
    }


SPARED = DECAYED["matrices"]
ALL = DECAYED["all"]
recall = share("runs", "recall")
gains = cosine("gain", "gain", decayed=SPARED)


def at(when: str, head: str = "tied", width: int = 64) -> Score:
    """Return a score: the gain in accuracy from weight decay that spares norms and biases.

    Args:
        when: The phases in which weights decay: ``during``, ``after`` or
            ``throughout``.
        head: ``tied`` or ``untied``; by default ``tied``.
        width: Width of the model, one of the widths in the plan; by default 64.

    Returns:
        The score of the column ``gain``.
    """
    return gains.at(when=when, head=head, width=width)


SCORES = {
    "throughout-tied": at("throughout") >= 0.1,
    "throughout-untied": at("throughout", "untied") >= 0.05,
    "during-alone-does-not": gains.at(when="during", width=64).over("head") <= 0.05,
    "after-untied": at("after", "untied") >= 0.05,
    "after-tied-is-less": at("throughout") - at("after") >= 0.05,
    "throughout-width-32": at("throughout", width=32) >= 0.05,
    "throughout-width-128": at("throughout", width=128) >= 0.05,
    "norms-cost-the-facts": recall.at(decayed=ALL).over("head", "when") <= 0.9,
    "facts-known": recall.at(decayed=SPARED).over("head", "width", "when") >= KNOWN,
}

"""Margins of every statement: the correct answer's logit minus the largest wrong logit.

:func:`margins` returns one row per statement, while :func:`~inweights.probes.accuracy`
returns shares.
"""

from collections.abc import Sequence

import polars as pl

from inweights.models.base import Model
from inweights.probes.needs import holds
from inweights.probes.recall import answers_among, chosen_parts, slices
from inweights.training.batches.worlds import as_worlds
from inweights.training.scoring import answer_scores
from inweights.worlds.world import Worlds


@holds(logits=8, states=12)
def margins(
    model: Model, worlds: Worlds, *, parts: Sequence[str] = ("queries",)
) -> pl.DataFrame:
    """Compute the margin of every statement: ``f_y − max_{y' ≠ y} f_{y'}`` (Identity Bridge §4.3).

    ``f`` are the logits for the first answer token, and ``y`` is the correct answer. If
    several answers to a prompt are correct, the margin is the largest logit of a
    correct answer minus the largest logit of a wrong one.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica.
        parts: ``facts``, ``queries`` or both.

    Returns:
        One row per replica and statement, with the columns ``replica``, ``part``,
        ``role``, ``distribution`` (``trained``, ``in`` or ``out`` of distribution),
        ``prompt`` and ``answer`` (names of their tokens; if several answers are
        correct, the first one), ``predicted`` (name of the candidate with the largest
        logit), ``margin`` (over all wrong candidates) and ``margin_among`` (only over
        wrong candidates that are answers to other statements of the role), both in
        logits, and ``right_answers`` (number of correct answers to the prompt).

    Raises:
        ConfigError: A part is unknown, the model has no replica axis or cannot read
            prompts of this length, or the probe would need more memory than is
            available.
        DataError: The chosen parts contain no statements, an answer is not among the
            head's candidates, or the worlds do not fit the model.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> margins(model, world)["prompt"][0]
        'a1 r1 r2'
    """
    each = as_worlds(worlds, model)
    chosen = chosen_parts(each[0], parts)
    tables = []
    for part, role, distribution, indices in slices(each[0]):
        if part not in chosen:
            continue
        allowed = answers_among(model, each, part, role)
        scores = answer_scores(model, each, part, indices, allowed)
        predicted = model.candidates[scores.predicted].tolist()
        for replica in range(model.replicas):
            world = each[replica % len(each)]
            statements = getattr(world, part)
            names = world.vocabulary.names
            prompts = [
                world.vocabulary.text(statements.prompt(int(i))) for i in indices
            ]
            answers = [names[statements.answer(int(i))[0]] for i in indices]
            table = {
                "replica": [replica] * len(indices),
                "part": [part] * len(indices),
                "role": [role] * len(indices),
                "distribution": [distribution] * len(indices),
                "prompt": prompts,
                "answer": answers,
                "predicted": [names[token] for token in predicted[replica]],
                "margin": scores.margin[replica].tolist(),
                "margin_among": scores.margin_among[replica].tolist(),
                "right_answers": statements.right_counts[indices],
            }
            tables.append(pl.DataFrame(table))
    return pl.concat(tables)

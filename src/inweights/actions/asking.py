"""Ask a model a single question, or compare two models on all statements of a world.

Both functions accept trained, loaded and wrapped models with their world. :func:`ask`
also accepts a pretrained language model, for which it phrases the question in English.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from inweights.errors import ConfigError, DataError, unknown_name
from inweights.support.progress import plural

if TYPE_CHECKING:
    import polars as pl

    from inweights.lm import LanguageModel
    from inweights.models.base import Model
    from inweights.worlds.world import World


def ask(
    model: Model | LanguageModel,
    world: World | Sequence[World],
    question: str | Sequence[str],
    *,
    best: int = 3,
) -> pl.DataFrame:
    """Return the most probable answers of a model to one question, with their probabilities.

    Args:
        model: Any model with ``R`` replicas: trained, loaded or wrapped. Alternatively
            a pretrained language model, which is treated as one replica; the question
            is then phrased in English (:class:`~inweights.worlds.Wording`).
        world: The world on which the model was trained, or one world per replica. It
            defines the names of the tokens. For a language model, only the first world
            is used.
        question: Names of tokens separated by spaces, or a list of names. For a
            language model, they are a subject and one or more relations.
        best: Maximum number of answers per replica, from 1 to 1,000,000; by default 3.

    Returns:
        One row per replica and answer, the most probable answer first. There are fewer
        than ``best`` rows per replica if there are fewer candidates. Columns:
        ``replica``, from 0; ``rank``, from 1; ``answer``, the name of a token (if an
        answer has several tokens, the first one); ``probability``, from 0 to 1,
        relative to all candidates; and ``right``, whether this is the answer of a fact
        or query of the world, or null if the world does not contain the question. The
        candidates of a language model are the objects of the last relation in the facts
        of the world.

    Raises:
        DataError: A word is not a token of the world (the message suggests similar
            ones); the worlds do not match the model, or their number is neither 1 nor
            ``R``; or the question to a language model does not end with a relation.
        ConfigError: The question is empty, longer than the model's context, or of
            different lengths in different worlds; ``best`` is not between 1 and
            1,000,000; or the model has no replica axis.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> ask(model, world, "a1 r1 r2", best=2).columns
        ['replica', 'rank', 'answer', 'probability', 'right']
    """
    import torch

    from inweights.config import check_size
    from inweights.training.batches.worlds import as_worlds
    from inweights.worlds.world import World

    check_size("best", best, most=10**6)
    rows: list[tuple[Any, ...]] = []
    if not isinstance(model, torch.nn.Module):
        own = world if isinstance(world, World) else world[0]
        return _in_words(model, own, prompt_of(own, question), best)
    worlds = as_worlds(world, model)
    prompts = [prompt_of(each, question) for each in worlds]
    if len(set(map(len, prompts))) > 1:
        raise ConfigError(
            "the question must have the same number of tokens in every world"
        )
    if model.context is not None and len(prompts[0]) > model.context:
        raise ConfigError(
            f"the question has {plural(len(prompts[0]), 'token')}; the model reads at most "
            f"{model.context}"
        )
    tokens = torch.tensor(prompts if len(prompts) > 1 else prompts[0])
    tokens = tokens.unsqueeze(-2).to(model.column.device)
    with torch.no_grad():
        chances, columns = model(tokens)[:, 0, -1].softmax(-1).sort(descending=True)
    answers = model.candidates[columns[:, :best]].tolist()
    for replica, (names, shares) in enumerate(
        zip(answers, chances.tolist(), strict=True)
    ):
        own = worlds[replica % len(worlds)]
        known = _answers(own, prompts[replica % len(worlds)])
        rows += [
            (
                replica,
                rank,
                own.vocabulary.names[name],
                share,
                name in known if known else None,
            )
            for rank, (name, share) in enumerate(zip(names, shares, strict=False), 1)
        ]
    return _frame(rows)


def _in_words(
    model: LanguageModel, world: World, prompt: Sequence[int], best: int
) -> pl.DataFrame:
    """Ask a language model in words; the candidates are the objects of the last relation."""
    import numpy as np

    from inweights.lm import log_likelihoods
    from inweights.worlds.knowledge.words.wording import Wording

    subject, *relations = (world.vocabulary.names[token] for token in prompt)
    answers = {
        fact.answer[0]: None for fact in world.facts if fact.prompt[-1] == prompt[-1]
    }
    if not relations or not answers:
        raise DataError(
            f"'{world.vocabulary.names[prompt[-1]]}' is not a relation of the world; a language "
            "model answers questions with a subject and relations, as in 'ann works at'"
        )
    names = [world.vocabulary.names[token] for token in answers]
    words = Wording()
    if len(relations) == 1:
        text = words.state(relations[0], subject, "", 0)[0]
    elif len(relations) == 2:
        text = words.chain(relations[0], relations[1], subject)
    else:
        text = words.ask(relations, subject)
    (scores,) = log_likelihoods(model, [text], [[f" {name}" for name in names]])
    shares = np.exp(scores - np.logaddexp.reduce(scores))
    known = {world.vocabulary.names[token] for token in _answers(world, prompt)}
    first = np.argsort(-shares, kind="stable")[:best]
    return _frame(
        (0, rank, names[k], float(shares[k]), names[k] in known if known else None)
        for rank, k in enumerate(first, 1)
    )


def _frame(rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    """Return the rows of :func:`ask` as a table."""
    import polars as pl

    types = {"replica": pl.Int64, "rank": pl.Int64, "answer": pl.String}
    return pl.DataFrame(
        list(rows),
        {**types, "probability": pl.Float64, "right": pl.Boolean},
        orient="row",
    )


def prompt_of(world: World, question: str | Sequence[str]) -> list[int]:
    """Return the token ids of a question.

    Args:
        world: The world that defines the names of the tokens.
        question: Names separated by spaces, or a list with one name per token. In a
            string, names may contain spaces: at each position, the longest matching
            name is used.

    Returns:
        The token ids, in the order of the question.

    Raises:
        DataError: A word is not a token of the world; the message suggests similar
            ones.
        ConfigError: The question is empty.
    """
    words = question.split() if isinstance(question, str) else list(question)
    if not words:
        raise ConfigError("a question needs at least one token, as in 'a1 r1 r2'")
    if not isinstance(question, str):
        return list(map(world.vocabulary.id, words))
    known = {name: place for place, name in enumerate(world.vocabulary.names)}
    longest = max(len(name.split()) for name in known)
    ids: list[int] = []
    place = 0
    while place < len(words):
        for length in range(longest, 0, -1):
            name = " ".join(words[place : place + length])
            if name in known:
                ids.append(known[name])
                place += length
                break
        else:
            raise unknown_name("token", words[place], known, error=DataError)
    return ids


def compare_models(first: Model, second: Model, world: World) -> pl.DataFrame:
    """Compare the accuracy of two models, role by role.

    Args:
        first: A model with ``R`` replicas.
        second: Another model, with the same or a different number of replicas.
        world: The world on whose facts and queries both models are evaluated.

    Returns:
        One row per group of statements: ``part`` (``facts`` or ``queries``), ``role``
        (such as ``composition``), ``distribution`` (see
        :func:`inweights.probes.accuracy`), ``first`` and ``second`` (mean accuracies of
        the two models over their replicas, from 0 to 1), ``difference`` (second minus
        first) and ``replicas`` (the numbers of replicas of the two models as text, such
        as ``4 and 2``).

    Raises:
        ConfigError: A model has no replica axis, or the evaluation would need more
            memory than is available.
        DataError: The world does not match a model, or an answer contains a token
            that is not a candidate of a model.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> small, large = (
        ...     iw.EmbMLPConfig(width=width).build(vocabulary=len(world.vocabulary), seeds=[0])
        ...     for width in (8, 64)
        ... )
        >>> compare_models(small, large, world)["role"].to_list()
        ['first_hop', 'second_hop', 'identity', 'composition']
    """
    import polars as pl

    from inweights.probes.recall import accuracy

    keys = ["part", "role", "distribution"]
    sides = [
        accuracy(model, world)
        .group_by(keys, maintain_order=True)
        .agg(pl.col("accuracy").mean())
        for model in (first, second)
    ]
    joined = (
        sides[0]
        .rename({"accuracy": "first"})
        .join(sides[1].rename({"accuracy": "second"}), on=keys, maintain_order="left")
    )
    replicas = f"{first.replicas} and {second.replicas}"
    return joined.with_columns(
        difference=pl.col("second") - pl.col("first"), replicas=pl.lit(replicas)
    )


def _answers(world: World, prompt: Sequence[int]) -> set[int]:
    """Return the first tokens of the answers that a world has to a prompt."""
    found = set[int]()
    for part in (world.facts, world.queries):
        for index, statement in enumerate(part):
            if list(statement.prompt) == list(prompt):
                found.update(part.right_answers(index).tolist())
    return found

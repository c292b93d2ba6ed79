"""Summarise an audit: how many questions of each pair of relations are answered.

:func:`outlook` returns the table, and :func:`headline` the sentence with which the
command line and the audit's page begin.
"""

import polars as pl

from inweights.audit.audit import Audit
from inweights.worlds.knowledge.triples import two_step_questions


def outlook(audit: Audit) -> pl.DataFrame:
    """Return how many questions of each pair of relations are predicted to be answered correctly.

    Args:
        audit: Result of :func:`inweights.audit.audit`.

    Returns:
        One row per pair of relations that form chains, most chains first. A prediction
        may cover only a part of the facts; pairs without an evaluated query are left
        out. The columns are ``first``, ``second`` (names of the relations), ``chains``
        (number of chains), ``complexity`` and ``expected`` as in
        :class:`~inweights.audit.Audit`, and the following counts of the prediction,
        which are null if the audit contains no prediction: ``questions`` (distinct
        prompts), ``follow`` (questions for which a correct answer has the largest logit),
        ``tied`` (right and wrong answers share the largest logit), ``fail`` (a wrong
        answer has the largest logit), ``mended`` (questions that follow only if the
        advised identities are added) and ``lost`` (questions that no longer follow if
        they are added). The last two are 0 if there is no advice.

    Example:
        >>> from inweights.audit import audit
        >>> from inweights.worlds import read_knowledge
        >>> outlook(audit(read_knowledge("@chemistry"))).select(
        ...     "first", "second", "questions", "follow", "mended").rows()
        [('contains', 'family', 18, 7, 11), ('contains', 'symbol', 18, 0, 18)]
    """
    pairs = audit.compositions.select(
        "first", "second", "chains", "complexity", "expected"
    )
    counted = ("questions", "follow", "tied", "fail", "mended", "lost")
    if audit.forecast is None:
        return pairs.with_columns(
            pl.lit(None, dtype=pl.Int64).alias(k) for k in counted
        )
    world = audit.forecast.world
    advice = audit.forecast.advice
    rows = audit.forecast.queries.filter(pl.col("role") == "composition")
    start = int(world.vocabulary["relation"][0])
    names = audit.knowledge.relations
    asked = list(map(world.queries.prompt, rows["query"].to_list()))
    column = {
        "first": pl.Series([names[p[1] - start] for p in asked], dtype=pl.String),
        "second": pl.Series([names[p[2] - start] for p in asked], dtype=pl.String),
        "subject": pl.Series([int(p[0]) for p in asked], dtype=pl.Int64),
    }
    follows = pl.col("verdict") == "follows"
    better, worse = (
        (advice.mended, advice.broken) if advice and advice.identities else ((), ())
    )
    questions = rows.with_columns(
        **column,
        follow=follows,
        tied=pl.col("verdict") == "tied",
        after=(follows & ~pl.col("query").is_in(worse)) | pl.col("query").is_in(better),
    )
    by_pair = questions.group_by("first", "second").agg(
        questions=pl.len().cast(pl.Int64),
        follow=pl.col("follow").sum().cast(pl.Int64),
        tied=pl.col("tied").sum().cast(pl.Int64),
        fail=(~pl.col("follow") & ~pl.col("tied")).sum().cast(pl.Int64),
        mended=(pl.col("after") & ~pl.col("follow")).sum().cast(pl.Int64),
        lost=(pl.col("follow") & ~pl.col("after")).sum().cast(pl.Int64),
    )
    return pairs.join(
        by_pair, on=["first", "second"], how="inner", maintain_order="left"
    )


def headline(audit: Audit) -> str:
    """Return a sentence that states how many two-step questions are predicted to be answered.

    Args:
        audit: Result of :func:`inweights.audit.audit`.

    Returns:
        One sentence without a full stop. It states how many questions follow from the
        facts (a right answer has the largest predicted logit), and how many would
        follow if the advised identities were added. If there is no prediction, it
        states the number of questions and the number of bridges without an identity. If
        there are no chains, the sentence says so.

    Example:
        >>> from inweights.audit import audit
        >>> from inweights.worlds import read_knowledge
        >>> headline(audit(read_knowledge("@chemistry")))
        '7 of 36 two-step questions follow; with 18 identities 36 would'
    """
    if not audit.compositions.height:
        return "No two facts form a chain: nothing can be composed"
    table = outlook(audit)
    if audit.forecast is None:
        chains = int(table["chains"].sum())
        asked = two_step_questions(audit.knowledge)
        lacking = audit.bridges.filter(~pl.col("identity")).height
        tail = f"; {lacking:,} bridges have no identity" if lacking else ""
        return f"{asked:,} two-step questions ({chains:,} chains of two facts){tail}"
    asked = int(table["questions"].sum())
    follow = int(table["follow"].sum())
    tail = ""
    advice = audit.forecast.advice
    after = follow + int(table["mended"].sum()) - int(table["lost"].sum())
    if advice and advice.identities and after > follow:
        sure = "" if advice.status == "certified" else f" ({advice.status})"
        tail = f"; with {len(advice.identities)} identities {after:,} would{sure}"
    text = f"{follow:,} of {asked:,} two-step questions follow{tail}"
    out = audit.forecast.let_go.filter(pl.col("why") == "left out").height
    return (
        f"{text} (predicted from {len(audit.knowledge) - out:,} facts)" if out else text
    )

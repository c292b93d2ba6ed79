"""Count what a model could answer without reasoning: stated answers, names, and analogies.

Each function takes the table of facts, as the functions of
:mod:`~inweights.audit.counts.chains` do, and returns a table of
:class:`~inweights.audit.Audit`.
"""

from collections.abc import Collection

import polars as pl

from inweights.audit.counts.chains import LISTED


def leaks(facts: pl.DataFrame, chains: pl.DataFrame) -> pl.DataFrame:
    """List the chains whose answer the facts state directly.

    Args:
        facts: One row per fact: ``subject``, ``relation``, ``object``, ``fact``,
            ``line``.
        chains: The chains, as returned by :func:`chains_in`.

    Returns:
        One row for each pair of a chain and a fact that directly connects the subject
        of the chain with its answer. The columns are those of ``chains``, followed by
        ``stated_as`` (the relation of the direct fact), ``fact`` (its index) and
        ``line`` (its line in the file).
    """
    stated = facts.select("subject", "relation", "fact", "line", answer="object")
    return chains.join(
        stated, on=["subject", "answer"], how="inner", maintain_order="left"
    ).rename({"relation": "stated_as"})


def name_overlap(facts: pl.DataFrame) -> pl.DataFrame:
    """Measure how often the name of a subject contains the name of its object, or vice versa.

    Args:
        facts: One row per fact: ``subject``, ``relation``, ``object``.

    Returns:
        One row per relation, in the order of the facts: ``relation`` and ``contained``,
        the fraction of the relation's facts in which one name is part of the other.
        Case is ignored, and names of fewer than three characters are not considered.
    """
    one = pl.col("subject").str.to_lowercase()
    other = pl.col("object").str.to_lowercase()
    long = (one.str.len_chars() >= 3) & (other.str.len_chars() >= 3)
    inside = one.str.contains(other, literal=True) | other.str.contains(
        one, literal=True
    )
    return facts.group_by("relation", maintain_order=True).agg(
        contained=(inside & long).mean()
    )


def transfers(facts: pl.DataFrame, identifying: Collection[str] = ()) -> pl.DataFrame:
    """Count pairs of entities that share a value, where only one entity has another relation.

    These are the analogies that a model may draw. If ``h`` of ``g`` entities that share
    a value have the other relation, there are ``h (g - h)`` pairs, which are counted
    without being listed. The pairs are listed, within a memory limit, only if entities
    share several values of one relation, so that each pair is counted once.

    Args:
        facts: One row per fact: ``subject``, ``relation``, ``object``, ``stage``.
        identifying: Names of relations whose values distinguish subjects, such as
            nicknames. A pair is not counted if such a relation is the attribute (the
            relation that only one entity of the pair has).

    Returns:
        One row per pair of relations, most pairs first: ``shared`` and ``attribute``
        (names of the relations), ``groups`` (number of shared values), ``pairs``
        (number of pairs of entities) and ``late`` (number of pairs for which the shared
        value is learned in a later stage than the attribute).
    """
    real = facts.filter(pl.col("subject") != pl.col("object"))
    groups = real.select("subject", "stage", shared="relation", value="object")
    size = groups.group_by("shared", "value").agg(g=pl.col("subject").n_unique())
    several = size.filter(pl.col("g") > 1)
    passed = real.filter(~pl.col("relation").is_in(list(identifying)))
    held = passed.group_by("subject", attribute="relation").agg(
        learnt=pl.col("stage").min()
    )
    members = groups.join(several, on=["shared", "value"])
    # One row for each member of a group and each other relation that the member has.
    having = members.join(held, on="subject").filter(
        pl.col("shared") != pl.col("attribute")
    )
    late = pl.col("stage") > pl.col("learnt")
    return (
        having.group_by("shared", "attribute", "value", "g")
        .agg(h=pl.col("subject").n_unique(), late=late.any())
        .with_columns(pairs=pl.col("h") * (pl.col("g") - pl.col("h")))
        .join(_counted_again(members, held), on=["shared", "attribute"], how="left")
        .group_by("shared", "attribute")
        .agg(
            groups=pl.len(),
            pairs=pl.col("pairs").sum() - pl.col("twice").first().fill_null(0),
            late=pl.col("pairs").filter(pl.col("late")).sum(),
        )
        .filter(pl.col("pairs") > 0)
        .with_columns(late=pl.min_horizontal("late", "pairs"))
        .sort("pairs", "shared", "attribute", descending=[True, False, False])
    )


def _counted_again(members: pl.DataFrame, held: pl.DataFrame) -> pl.DataFrame:
    """Count repetitions of pairs that share several values of one relation."""
    keys = ["subject", "shared"]
    many = members.filter(pl.len().over(keys) > 1).select(
        "subject", "shared", "value", "g"
    )
    empty = pl.DataFrame(
        schema={"shared": pl.String, "attribute": pl.String, "twice": pl.Int64}
    )
    if not many.height or int((many["g"].cast(pl.Int64)).sum()) > LISTED:
        return empty  # repetitions are then not subtracted
    pairs = (
        many.join(many, on=["shared", "value"], suffix="_other")
        .filter(pl.col("subject") != pl.col("subject_other"))
        .group_by("subject", "subject_other", "shared")
        .agg(again=pl.len().cast(pl.Int64) - 1)
        .filter(pl.col("again") > 0)
    )
    ours = pairs.join(held.select("subject", "attribute"), on="subject").filter(
        pl.col("shared") != pl.col("attribute")
    )
    theirs = held.select(subject_other="subject", attribute="attribute")
    return (
        ours.join(theirs, on=["subject_other", "attribute"], how="anti")
        .group_by("shared", "attribute")
        .agg(twice=pl.col("again").sum())
    )

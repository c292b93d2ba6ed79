"""Count facts, chains, bridges and entities for the tables of :class:`~inweights.audit.Audit`.

Most functions take the table of facts (one row per fact, with the columns ``subject``,
``relation``, ``object``, ``fact``, ``line`` and ``stage``) and return a table made by
joins and group-bys. A *chain* is a pair of facts in which the object of the first, the
*bridge*, is the subject of the second.
"""

import polars as pl

from inweights.worlds.knowledge.checks.names import literals
from inweights.worlds.knowledge.knowledge import Knowledge

#: Maximum number of chains that are listed. If there are more, the chains of a random
#: sample of subjects are listed instead.
LISTED = 1_000_000
#: Fixed seed of the sample of subjects, so that repeated audits give the same result.
_SEED = 0


def relations(facts: pl.DataFrame) -> pl.DataFrame:
    """Count the facts, subjects and objects of each relation, and find its most common object.

    Args:
        facts: One row per fact: ``subject``, ``relation``, ``object``.

    Returns:
        One row per relation, in the order of the facts: ``relation``, ``triples``
        (number of facts), ``subjects`` and ``objects`` (numbers of distinct entities),
        ``values`` (mean number of objects of a subject), ``most_common`` (the object
        that most subjects have; if there is a tie, the first in alphabetical order) and
        ``share`` (fraction of the subjects that have it).
    """
    counts = facts.group_by("relation", "object").len()
    common = counts.sort("len", "object", descending=[True, False]).group_by(
        "relation", maintain_order=True
    )
    most = common.agg(
        pl.col("object").first().alias("most_common"), pl.col("len").first()
    )
    return (
        facts.group_by("relation", maintain_order=True)
        .agg(
            triples=pl.len(),
            subjects=pl.col("subject").n_unique(),
            objects=pl.col("object").n_unique(),
        )
        .with_columns(values=pl.col("triples") / pl.col("subjects"))
        .join(most, on="relation", how="left", maintain_order="left")
        .with_columns(share=pl.col("len") / pl.col("subjects"))
        .drop("len")
    )


def chain_counts(facts: pl.DataFrame) -> pl.DataFrame:
    """Count the chains of each pair of relations exactly, without listing them.

    The number is the sum, over all bridges, of the number of incoming facts times the
    number of outgoing facts.

    Args:
        facts: One row per fact (``subject``, ``relation``, ``object``), without
            identity statements.

    Returns:
        One row per pair of relations that form a chain, most chains first: ``first``,
        ``second`` (names of the relations) and ``chains`` (number of chains).
    """
    into = facts.group_by("object", first="relation").agg(into=pl.len())
    out = facts.group_by("subject", second="relation").agg(out=pl.len())
    return (
        into.join(out, left_on="object", right_on="subject")
        .group_by("first", "second")
        .agg(chains=(pl.col("into").cast(pl.Int64) * pl.col("out")).sum())
        .sort("chains", "first", "second", descending=[True, False, False])
    )


def chains_in(facts: pl.DataFrame) -> tuple[pl.DataFrame, float]:
    """List all chains of the facts, or the chains of randomly drawn subjects if there are too many.

    At most a million chains (:data:`LISTED`) are listed. If there are more, subjects
    are drawn with a fixed seed; subjects that begin more than 50,000 chains (a
    twentieth of the limit) are never drawn.

    Args:
        facts: One row per fact (``subject``, ``relation``, ``object``), without
            identity statements.

    Returns:
        A table and a number. The table has one row per chain: ``subject``, ``first``
        (relation from the subject to the bridge), ``bridge``, ``second`` (relation from
        the bridge to the answer) and ``answer``, all names. The number is the fraction
        of all chains that are listed (1 if there are none).
    """
    out = facts.group_by(bridge="subject").agg(out=pl.len())
    each = (
        facts.join(out, left_on="object", right_on="bridge")
        .group_by("subject")
        .agg(pl.col("out").cast(pl.Int64).sum())
        .sort("subject")
    )
    total = int(each["out"].sum())
    if total > LISTED:
        # Subjects are sampled, with all of their chains, because the complexity counts
        # all answers that a subject reaches. Hubs are left out, since the chains of a
        # single hub could fill the list.
        mixed = each.sample(fraction=1.0, shuffle=True, seed=_SEED)
        few = mixed.filter(pl.col("out") <= LISTED // 20).filter(
            pl.col("out").cum_sum() <= LISTED
        )
        begun = facts.join(few, on="subject", how="semi")
    else:
        begun = facts
    one = begun.select("subject", first="relation", bridge="object")
    other = facts.select(bridge="subject", second="relation", answer="object")
    chains = one.join(other, on="bridge", how="inner", maintain_order="left_right")
    return chains, chains.height / total if total else 1.0


def compositions(
    facts: pl.DataFrame, chains: pl.DataFrame, counts: pl.DataFrame
) -> pl.DataFrame:
    """Describe each pair of relations that form chains.

    Args:
        facts: One row per fact (``subject``, ``relation``, ``object``), including
            identity statements.
        chains: The listed chains, as returned by :func:`chains_in`.
        counts: Exact numbers of chains, from :func:`chain_counts`.

    Returns:
        One row per pair of relations, most chains first: ``first``, ``second``,
        ``chains`` (exact number), ``subjects``, ``bridges``, ``answers`` (numbers of
        distinct entities in these positions of the chains), ``complexity`` (largest
        number of objects that one subject reaches through any first relation followed
        by ``second``), ``expected`` (mean, over the listed chains, of 1 / ``n``, where
        ``n`` is the number of objects that the subject of the chain reaches in this
        way), ``stated`` (number of listed chains whose subject and answer are directly
        connected by a fact) and ``share`` (fraction of the listed chains with the most
        common answer). For a pair without a listed chain, all numbers except ``chains``
        are null.
    """
    reached = chains.group_by("subject", "second").agg(fan=pl.col("answer").n_unique())
    common = chains.group_by("first", "second", "answer").len()
    most = common.group_by("first", "second").agg(most=pl.col("len").max())
    stated = (
        chains.join(
            facts.select("subject", answer="object").unique(),
            on=["subject", "answer"],
            how="semi",
        )
        .group_by("first", "second")
        .agg(stated=pl.len())
    )
    details = (
        chains.join(reached, on=["subject", "second"], how="left")
        .group_by("first", "second")
        .agg(
            listed=pl.len(),
            subjects=pl.col("subject").n_unique(),
            bridges=pl.col("bridge").n_unique(),
            answers=pl.col("answer").n_unique(),
            complexity=pl.col("fan").max(),
            expected=(1.0 / pl.col("fan")).mean(),
        )
        .join(stated, on=["first", "second"], how="left")
        .join(most, on=["first", "second"], how="left")
        .with_columns(
            pl.col("stated").fill_null(0), share=pl.col("most") / pl.col("listed")
        )
        .drop("most", "listed")
    )
    return counts.join(
        details, on=["first", "second"], how="left", maintain_order="left"
    )


def bridges(facts: pl.DataFrame, identities: pl.Series) -> pl.DataFrame:
    """List the entities that are the object of one fact and the subject of another.

    Args:
        facts: One row per fact, without identity statements, with the columns
            ``subject`` and ``object``.
        identities: Names of the entities whose identity (``b → b``) is stated.

    Returns:
        One row per entity, most incoming facts first: ``entity`` (its name),
        ``incoming`` and ``outgoing`` (numbers of facts) and ``identity`` (whether its
        identity is stated).
    """
    incoming = facts.group_by("object", maintain_order=True).agg(incoming=pl.len())
    outgoing = facts.group_by("subject").agg(outgoing=pl.len())
    return (
        incoming.join(
            outgoing, left_on="object", right_on="subject", maintain_order="left"
        )
        .rename({"object": "entity"})
        .with_columns(identity=pl.col("entity").is_in(identities.implode()))
        .sort("incoming", "outgoing", descending=True, maintain_order=True)
    )


def entity_positions(knowledge: Knowledge) -> dict[str, int]:
    """Count the entities that are only subjects, only objects or both, and the dates and numbers.

    Args:
        knowledge: The facts.

    Returns:
        Counts under the keys ``subject only``, ``object only``, ``both`` and
        ``literal`` (dates and numbers that are only objects; they are not counted in
        ``object only``).
    """
    subjects, _, objects = map(set, knowledge.triples.T.tolist())
    found = literals(knowledge.entities, knowledge.triples)
    ends = len(objects - subjects)
    plain = int(found[list(objects - subjects)].sum())
    return {
        "subject only": len(subjects - objects),
        "object only": ends - plain,
        "both": len(subjects & objects),
        "literal": plain,
    }

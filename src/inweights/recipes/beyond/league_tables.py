"""Compute the tables of ``beyond/league``: accuracy by the unseen hops of a query."""

import polars as pl

from inweights.recipes.shared.derived import memorised

#: Columns that identify a condition.
ARM = ["model", "identity", "trained"]
#: Names of the roles of queries in figures.
HOPS = {
    "composition": "both hops seen",
    "first_unseen": "first unseen",
    "second_unseen": "second unseen",
    "both_unseen": "both unseen",
}


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracy on queries, grouped by the hops that no two-hop training fact contains.

    Args:
        tables: The tables that result from :func:`~.league.plan`, by name (a run is one
            trial with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`:
            ``part, role, distribution, statements, accuracy, accuracy_among, chance,
            loss, right_answers``), ``cost`` (:func:`~.league.cost`: ``parameters,
            operations``). Both have the columns ``model, identity, trained, seed``.
            ``model`` names the model, ``identity`` (Boolean) states whether the
            identity facts are part of training, and ``trained`` is the share of two-hop
            facts that are used for training. Accuracies and recall are fractions from 0
            to 1.

    Returns:
        - ``known``: a row per run of a model other than Emb-MLP, with the lowest
          ``accuracy`` over the roles of facts, except two-hop facts. Columns: ``model,
          identity, trained, seed, accuracy``.
        - ``league``: a row per run and value of ``hops``: ``composition`` (queries
          whose hops both occur in two-hop training facts), ``first_unseen``,
          ``second_unseen`` and ``both_unseen`` (queries whose first hop, second hop or
          both hops, respectively, occur in no two-hop training fact), ``all`` (mean
          over all queries) and ``facts`` (the role of facts with the lowest accuracy in
          the run, except two-hop facts), with ``accuracy``. Columns: ``model, identity,
          trained, seed, accuracy, hops``.
        - ``drawn``: a row per run and kind of query (``hops``), sorted for the figure;
          ``panel`` is a string that names the kind of query and whether there are
          identity facts. Columns: ``model, identity, trained, seed, part, role,
          distribution, statements, accuracy, accuracy_among, chance, loss,
          right_answers, hops, panel``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    accuracy = tables["accuracy"].filter(pl.col("role") != "two_hop")
    # Without two-hop facts in training, no hop of a query occurs in any of them.
    untaught = (pl.col("role") == "composition") & (pl.col("trained") == 0)
    hops = pl.when(untaught).then(pl.lit("both_unseen")).otherwise("role").alias("hops")
    queries = accuracy.filter(part="queries").with_columns(hops)
    weighted = (pl.col("accuracy") * pl.col("statements")).sum() / pl.col(
        "statements"
    ).sum()
    facts = memorised(accuracy, ARM)
    rows = queries.group_by([*ARM, "seed"], maintain_order=True).agg(weighted)
    return {
        "known": facts.filter(pl.col("model") != "Emb-MLP"),
        "league": pl.concat(
            [
                rows.with_columns(hops=pl.lit("all")),
                facts.with_columns(hops=pl.lit("facts")),
                queries.select(*ARM, "seed", "accuracy", "hops"),
            ],
            how="diagonal",
        ),
        "drawn": queries.with_columns(
            panel=pl.format(
                "{}, {}",
                pl.col("hops").replace_strict(HOPS),
                pl.when("identity")
                .then(pl.lit("identities"))
                .otherwise(pl.lit("no identities")),
            )
        ).sort(
            "identity",
            pl.col("hops").replace_strict({h: i for i, h in enumerate(HOPS)}),
        ),
    }

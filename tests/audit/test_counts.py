"""Counts at their limits: numbers of listed chains, and pairs that share several values."""

from __future__ import annotations

import polars as pl
import pytest

from inweights.audit.counts import chains, shortcuts


def facts(*rows: str) -> pl.DataFrame:
    """Return triples, written as ``subject relation object``."""
    columns = ["subject", "relation", "object"]
    table = pl.DataFrame([row.split() for row in rows], columns, orient="row")
    lines = pl.int_range(pl.len(), dtype=pl.Int64)
    return table.with_columns(fact=lines, line=lines + 1, stage=pl.lit(0))


def test_as_many_chains_are_listed_as_there_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chains, "LISTED", 20)
    table = facts(
        *(f"a{i} in b{i}" for i in range(30)), *(f"b{i} on c{i}" for i in range(30))
    )
    found, share = chains.chains_in(table)
    assert len(found) == 20
    assert share == pytest.approx(20 / 30)


def test_what_all_of_a_group_have_is_no_transfer() -> None:
    assert shortcuts.transfers(
        facts("Ann in Rome", "Bob in Rome", "Ann job x", "Bob job y")
    ).is_empty()


def test_relations_with_as_many_pairs_are_in_the_order_of_their_names() -> None:
    shared = ["Ann in Rome", "Bob in Rome", "Ann by sea", "Bob by sea"]
    found = shortcuts.transfers(facts(*shared, "Ann job x", "Bob has y"))
    assert found.select("shared", "attribute", "pairs").rows() == [
        ("by", "has", 1),
        ("by", "job", 1),
        ("in", "has", 1),
        ("in", "job", 1),
    ]


def test_pairs_that_share_two_values_count_once() -> None:
    """Ann and Bob share Rome and Oslo; only Ann has a job, so there is one pair."""
    both = facts(
        "Ann in Rome", "Bob in Rome", "Ann in Oslo", "Bob in Oslo", "Ann job x"
    )
    (row,) = shortcuts.transfers(both).rows(named=True)
    assert (row["shared"], row["attribute"], row["pairs"]) == ("in", "job", 1)

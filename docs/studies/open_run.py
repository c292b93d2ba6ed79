"""Open the tables of a finished run in polars and in pandas."""

import pandas as pd
import polars as pl

import inweights as iw

iw.run("demo/two-hop", "smoke")  # or: inweights run demo/two-hop --scale smoke
outcome = iw.find("demo/two-hop", "smoke")
print(outcome.folder.path, sorted(outcome.tables))

table = outcome.tables["accuracy"]  # checked against the manifest
print(table.group_by("role").agg(pl.col("accuracy").mean()))

file = outcome.folder.path / "tables" / "accuracy.parquet"
assert pl.read_parquet(file).equals(table)
frame = pd.read_parquet(file)
print(frame.pivot_table(index="role", columns="seed", values="accuracy"))

for claim in outcome.claims:
    print(claim.verdict, claim.measured, claim.text)

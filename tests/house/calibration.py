"""The fit of the probabilities of predictions: ``python -m tests.house.calibration RUN``.

RUN is a folder of ``beyond/calibrated-predictions``, on other seeds than its claims are judged on.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import polars as pl

from inweights.theory.prediction.calibration import fitted
from inweights.theory.prediction.calibration.features import PROPERTIES


def calibration(folder: Path) -> fitted.Calibration:
    """Fit to the table ``queries`` of a run."""
    queries = pl.read_parquet(folder / "tables" / "queries.parquet")
    worlds = queries.group_by("family", "seed", maintain_order=True).agg(
        pl.col(f"world_{name}").first().alias(name) for name in PROPERTIES
    )
    return fitted.fit(queries, worlds, replicas=8)


if __name__ == "__main__":
    made = msgspec.json.format(msgspec.json.encode(calibration(Path(sys.argv[1]))), indent=1)
    Path(fitted.__file__).with_name("fitted.json").write_bytes(made + b"\n")

"""Fit a law that is linear in the logarithms of its factors, for recipes that extrapolate."""

from collections.abc import Sequence

import numpy as np
import polars as pl


def linear_law(
    table: pl.DataFrame, column: str, factors: Sequence[str], by: Sequence[str]
) -> pl.DataFrame:
    """Predict a column by a linear function of the base-2 logarithms of other columns.

    The function has a constant term. It is fitted by least squares, separately for
    each group of rows.

    Args:
        table: Table with the columns ``column`` (the predicted value), ``factors``
            (above 0), ``by``, and ``fitted`` (Boolean: whether the row is used in the
            fit). Predictions are made for all rows.
        column: Name of the column to predict. If a value used in the fit is NaN, all
            predictions for its group are NaN.
        factors: Names of the columns whose logarithms are the predictors. Each group
            must have more rows used in the fit than there are factors; this is not
            checked.
        by: Names of the columns that define the groups.

    Returns:
        The rows of ``table``, group by group, with the additional columns ``foretold``
        (the prediction, rounded to nine decimals), ``error`` (the value of the column
        minus the prediction) and, for each factor, ``per_<factor>``: the change in the
        prediction when the factor is doubled.

    Raises:
        LinAlgError: A factor of a fitted row is not above 0, or is not finite.

    Example:
        >>> rows = {"x": [1, 2, 4, 16], "fitted": [True, True, True, False], "y": [3.0, 5, 7, 10]}
        >>> law = linear_law(pl.DataFrame(rows).with_columns(seed=0), "y", ["x"], ["seed"])
        >>> law.select("foretold", "error", "per_x").rows()[-1]
        (11.0, -1.0, 2.0)
    """
    parts = []
    for _, group in table.group_by(list(by), maintain_order=True):
        terms = np.log2(group.select(factors).to_numpy().astype(np.float64))
        design = np.column_stack([np.ones(len(group)), terms])
        values = group[column].to_numpy()
        fitted = group["fitted"].to_numpy()
        weights = np.linalg.lstsq(design[fitted], values[fitted], rcond=None)[0].round(
            9
        )
        foretold = pl.Series("foretold", (design @ weights).round(9))
        slopes = zip(factors, weights[1:].tolist(), strict=True)
        parts.append(
            group.with_columns(
                foretold,
                *(pl.lit(slope).alias(f"per_{factor}") for factor, slope in slopes),
                error=pl.col(column) - foretold,
            )
        )
    return pl.concat(parts)

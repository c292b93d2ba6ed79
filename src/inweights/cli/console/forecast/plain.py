"""Convert a prediction to plain values, for the JSON of ``predict`` and ``audit``."""

from dataclasses import asdict
from typing import Any

import msgspec

from inweights.audit.prediction.by_training import TrainedForecast
from inweights.cli.console.base import parts_of
from inweights.theory import Prediction
from inweights.theory.prediction.trust import meaning, trust

#: Largest number of dropped facts in the JSON object. In Python, all are available.
_LET_GO = 1000


def plain_forecast(
    made: Prediction, trained: TrainedForecast | None = None
) -> dict[str, Any]:
    """Convert a prediction to plain values for JSON.

    Args:
        made: The prediction.
        trained: Shares of trained replicas that answer each query correctly; ``None``
            (the default) if no replicas were trained.

    Returns:
        A dictionary that JSON can encode: name of the ``world``; the certificate
        (``status``, ``gap``, ``optimum``, ``bound``, ``rank``, ``iterations``,
        ``seconds``, ``decay``); ``queries`` with the most surprising first, and their
        ``summary``; ``let_go`` (the first 1,000 facts that the prediction drops),
        ``let_go_found`` (their total number) and ``why``; the sentences ``trust`` and
        ``meaning``; ``nearest`` (the most similar calibrated family of worlds);
        ``advice`` and ``remedies``; and ``training``, if replicas were trained.
    """
    solution = made.solution
    advice = made.advice
    tried = trained and {
        **parts_of(trained, "replicas memorised"),
        "seconds": round(trained.seconds, 2),
        "kinds": trained.kinds.to_dicts(),
    }
    names = dict(made.queries.select("query", "prompt").iter_rows())
    return {
        "world": solution.program.world.name,
        **parts_of(solution, "status gap optimum bound rank iterations"),
        "decay": getattr(solution, "decay", None),
        "why": made.why,
        "let_go_found": made.let_go.height,
        "let_go": made.let_go.head(_LET_GO).to_dicts(),
        "trust": trust(made),
        "meaning": meaning(made),
        "nearest": msgspec.to_builtins(made.nearest),
        "seconds": round(solution.seconds, 4),
        "queries": _queries(made),
        "summary": made.summary().to_dicts(),
        "advice": advice
        and {
            "identities": list(advice.identities),
            "mended": [names[i] for i in advice.mended],
            "open": [names[i] for i in advice.open],
            "broken": [names[i] for i in advice.broken],
            **parts_of(advice, "status gap solutions parts why"),
        },
        "remedies": list(map(asdict, made.remedies)),
    } | ({"training": tried} if tried else {})


def _queries(made: Prediction) -> list[dict[str, Any]]:
    """Return the queries, the most surprising first; for unstated ones, ``answer`` is ``None``."""
    rows = made.surprising()
    if "outlook" not in rows.columns:
        rows = rows.join(made.probabilities, on="query", maintain_order="left")
    return [
        row | {"answer": None} if row["role"] == "unstated" else row
        for row in rows.drop("query").to_dicts()
    ]

"""Coins that are tossed: a fast plan with known results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import polars as pl

from inweights.config import Config
from inweights.experiments import Computation, Paper, Plan
from inweights.seeds import Streams

PAPER = Paper("mine", "My lab", claims_of="ours")
#: Number of tosses of each coin.
TOSSED: Counter[str] = Counter()


class Settings(Config):
    tosses: int = 20


def tossed(seed: int, coin: str, chance: float, tosses: int) -> pl.DataFrame:
    TOSSED[coin] += 1
    draw = Streams(seed).numpy(coin).binomial(tosses, chance) / tosses
    return pl.DataFrame({"heads": [draw]})


def of_coins(coins: Mapping[str, float]) -> Callable[[Settings], Plan]:
    """Return plans that toss coins with the given probabilities of heads."""

    def plan(settings: Settings) -> Plan:
        return Plan(
            computations=[
                Computation(
                    name="tosses",
                    labels={"coin": coin},
                    compute=tossed,
                    options={"coin": coin, "chance": chance, "tosses": settings.tosses},
                    seeded=True,
                )
                for coin, chance in coins.items()
            ]
        )

    return plan

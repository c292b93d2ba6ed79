"""Our experiment: which architectures compose facts, from which facts, and at what cost."""

from collections.abc import Callable
from itertools import product
from typing import Any

import polars as pl

import inweights as iw
from inweights.config import Config, replace_at
from inweights.errors import ConfigError, check_names
from inweights.experiments import Curriculum, Measure, Plan, Trial, share
from inweights.models.configs import EmbMLPConfig, GPTConfig, MambaConfig
from inweights.models.outside.module_configs import WrapConfig
from inweights.models.outside.wrapping import causal_lm
from inweights.recipes.beyond.league_tables import ARM, derive
from inweights.training.curriculum import Optimizer, Phase, Schedule
from inweights.worlds.families.two_hop import TwoHop

__all__ = ["SCORES", "STANDING", "Settings", "cost", "derive", "lstm", "plan"]

Entrant = GPTConfig | EmbMLPConfig | MambaConfig | WrapConfig
SLOTS = 128
#: Smallest fraction of two-hop facts in training, apart from 0.
LEAST = 0.25


def lstm(vocabulary: int, width: int = 32) -> Any:
    """Return a two-layer LSTM, written in tensor operations so that replicas can train together.

    Args:
        vocabulary: Number of tokens.
        width: Width of the embeddings and hidden states; by default 32.

    Returns:
        A ``torch.nn.Module`` that maps token ids ``[B, T]`` (``B`` sequences of ``T``
        tokens) to logits ``[B, T, vocabulary]``, with PyTorch's default initialisation
        from its global generator.
    """
    import torch
    from torch import nn

    class LSTM(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(vocabulary, width)
            self.head = nn.Linear(width, vocabulary)
            self.gates = nn.ModuleList(
                nn.Linear(2 * width, 4 * width) for _ in range(2)
            )

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            x = self.embed(ids)
            for gates in self.gates:
                out = torch.zeros_like(x[:, 0])
                cell = torch.zeros_like(x[:, 0])
                states = []
                for t in range(x.shape[1]):
                    keep, take, show, new = gates(torch.cat([x[:, t], out], -1)).chunk(
                        4, -1
                    )
                    cell = keep.sigmoid() * cell + take.sigmoid() * new.tanh()
                    out = show.sigmoid() * cell.tanh()
                    states.append(out)
                x = torch.stack(states, 1)
            return self.head(x)

    return LSTM()


def _outside(kind: str, width: int, **options: Any) -> WrapConfig:
    return iw.wrap(
        causal_lm, model_type=kind, hidden_size=width, num_hidden_layers=4, **options
    )


#: Models that are always part of the league, by name: functions of the width that
#: return a config.
STANDING: dict[str, Callable[[int], Entrant]] = {
    "GPT": lambda width: GPTConfig(layers=4, width=width, tied=False),
    "looped GPT": lambda width: GPTConfig(layers=2, loops=2, width=width, tied=False),
    "looped GPT, injected": lambda width: GPTConfig(
        layers=2, loops=2, inject=True, width=width, tied=False
    ),
    "GPT, memory": lambda width: GPTConfig(
        layers=4, memory=SLOTS, width=width, tied=False
    ),
    "looped GPT, memory": lambda width: GPTConfig(
        layers=2, loops=2, memory=SLOTS, width=width, tied=False
    ),
    "Emb-MLP": lambda width: EmbMLPConfig(width=width),
    "Mamba": lambda width: MambaConfig(layers=4, width=width),
    "Llama": lambda width: _outside(
        "llama",
        width,
        intermediate_size=4 * width,
        num_attention_heads=2,
        num_key_value_heads=2,
    ),
    "RWKV": lambda width: _outside(
        "rwkv", width, attention_hidden_size=width, context_length=8
    ),
    "LSTM": lambda width: iw.wrap(lstm, width=width),
}


class Settings(Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``league.toml``.

    Attributes:
        models: Names of the built-in models to train, keys of :data:`STANDING`; by
            default all.
        entrant: Config of an additional model of your own. With ``None``, the default,
            only the built-in models are trained.
        name: Name of ``entrant`` in the tables. It has no effect if ``entrant`` is
            ``None``.
        world: Two-hop world with shared bridges, in which some hops occur in no two-hop
            fact of the training set.
        shares: Shares of the two-hop facts that are used for training, at least 0 and
            below 1. Two-hop facts that contain a hop excluded from the two-hop facts of
            the training set (see ``world``) are not counted.
        width: Width of the built-in models.
        steps: Number of updates of each model.
        rate: Learning rate, above 0, after 20 steps of warm-up.
        decay: Weight decay.

    Raises:
        ConfigError: A name in ``models`` is unknown, ``name`` is one of them and there
            is an entrant, or a value has the wrong type.
    """

    models: tuple[str, ...] = tuple(STANDING)
    entrant: Entrant | None = None
    name: str = "entrant"
    world: TwoHop = TwoHop(
        n=20,
        first_relations=2,
        second_relations=4,
        maps="sampled",
        bridges=6,
        unseen=0.3,
        trained=0.75,
    )
    shares: tuple[float, ...] = (0.0, LEAST, 0.75)
    width: int = 32
    steps: int = 600
    rate: float = 2e-3
    decay: float = 0.1

    def __post_init__(self) -> None:
        check_names("model of the league", self.models, STANDING)
        if self.entrant is not None and self.name in self.models:
            raise ConfigError(
                f"the league already has a model '{self.name}'; choose another name"
            )


def plan(settings: Settings) -> Plan:
    """Plan training of each model with and without identities, for each share of two-hop facts.

    Args:
        settings: The recipe's settings, such as ``models``, ``entrant`` and ``name``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``model`` (keys of :data:`STANDING`, and the entrant's
          name), ``identity`` (Boolean: whether the identity facts are part of
          training), and ``trained`` (share of the two-hop facts that are used for
          training: 0, 0.25, 0.75).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`) and ``cost``
          (:func:`inweights.recipes.beyond.league.cost`; only for the first seed).

    Raises:
        ConfigError: A share is outside ``[0, 1)``, or a value is out of range for a
            model or its training.
    """
    models = {name: STANDING[name](settings.width) for name in settings.models}
    if settings.entrant is not None:
        models[settings.name] = settings.entrant
    trials = [
        _trial(
            settings, model, {"model": name, "identity": identity, "trained": trained}
        )
        for (name, model), identity, trained in product(
            models.items(), (False, True), settings.shares
        )
    ]
    needs = "hf" if {"Llama", "RWKV"} & {*models} else ""
    measures = [
        Measure(name="accuracy", probe=iw.probes.accuracy, needs=needs),
        Measure(name="cost", probe=cost, first_seed=True),
    ]
    return Plan(trials=trials, measures=measures)


def _trial(settings: Settings, model: Entrant, labels: dict[str, Any]) -> Trial:
    trained = labels["trained"]
    told = {"identity": labels["identity"], "trained": trained}
    # Without two-hop facts in training, there are none from which hops could be left
    # out.
    told |= {} if trained else {"unseen": 0.0}
    places = isinstance(model, GPTConfig) and model.positions == "learned"
    phase = Phase(
        steps=settings.steps,
        random_offset=places,
        schedule=Schedule(warmup=20),
        optimizer=Optimizer(rate=settings.rate, weight_decay=settings.decay),
    )
    return Trial(
        labels=labels,
        world=replace_at(settings.world, told),
        model=model,
        learner=Curriculum(phases=(phase,)),
    )


@iw.experiments.shows(
    value="operations",
    columns="parameters operations",
    label="floating-point operations",
    null="The cost follows from the architecture alone, so no control makes sense.",
    caption="Number of operations that a model needs to answer one question of three tokens.",
    low=0.0,
)
def cost(model: Any, worlds: Any) -> pl.DataFrame:
    """Return the number of parameters of a model, and the number of operations for one question.

    The model is built again from its config; the weights of ``model`` are not used.

    Args:
        model: A model with ``R`` replicas.
        worlds: Not used. All probes have this parameter.

    Returns:
        One row per replica, with the columns ``replica``; ``parameters``, the number of
        parameters of one replica; and ``operations``, the floating-point operations of
        matrix products and attention for one prompt of three tokens, as PyTorch counts
        them.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    del worlds
    # The cost is measured on two replicas and halved, because a wrapped module computes
    # two rows even for a single replica.
    pair = model.config.build(vocabulary=model.vocabulary, seeds=[0, 1])
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        pair(torch.zeros(1, 3, dtype=torch.long))
    return pl.DataFrame({"replica": range(model.replicas)}).with_columns(
        parameters=pl.lit(
            sum(parameter.numel() for parameter in pair.parameters()) // 2
        ),
        operations=pl.lit(counter.get_total_flops() // 2),
    )


rows = share("league", "accuracy")
gpt = rows.at(model="GPT", identity=False)
most = rows.at(trained=0.75, hops="both_unseen")
few = gpt.at(trained=LEAST, hops="both_unseen")

SCORES = {
    "facts-are-known": share("known", "accuracy").over(*ARM) >= 0.99,
    "facts-do-not-tell": gpt.at(trained=0.75, hops="composition")
    - gpt.at(trained=0.0, hops="all")
    >= 0.4,
    "identities-are-exposure": few.at(identity=True) - few >= 0.2,
    "more-two-hop-facts-undo-it": few.at(identity=True)
    - few.at(identity=True, trained=0.75)
    >= 0.1,
    "loops-cross": most.at(model="looped GPT", identity=False)
    - most.at(model="GPT", identity=False)
    >= 0.1,
    "memory-crosses": most.at(model="GPT, memory", identity=False)
    - most.at(model="GPT", identity=False)
    >= 0.1,
    "lstm-composes": most.at(model="LSTM", identity=True)
    - most.at(model="GPT", identity=True)
    >= 0.2,
}

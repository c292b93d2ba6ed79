"""Our experiment: LoRA on a hidden city, compared with a single vector added at every token."""

from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

import inweights as iw
from inweights.config.ranges import NonNegativeInt
from inweights.experiments import Computation, Outside, Plan, cosine, share
from inweights.lm.exams.questions import Question
from inweights.lm.tuning.fine_tune import FineTune
from inweights.recipes.shared.language.invented import names
from inweights.seeds import DATA_ORDER, EVALUATION, WORLD, Streams
from inweights.support.keys.content import contents_of

_TABLE = Path(__file__).with_suffix(".csv").read_text(encoding="utf-8")
#: Facts about each country, and a city in it that the model knows: the columns of the
#: table by their names.
_ROWS = [row.split(", ") for row in _TABLE.splitlines()]
FACTS = {name: tuple(column) for name, *column in zip(*_ROWS, strict=True)}
#: Templates of statements about a city, each in two wordings: those that are trained
#: on, and those that must be inferred.
TRAINED = {
    "dish": ("People in {} love to eat", "The favourite dish in {} is"),
    "drink": ("People in {} love to drink", "The favourite drink in {} is"),
    "sight": (
        "Tourists who visit {} see the",
        "Many photographs that are taken in {} show the",
    ),
    "history": ("Schoolchildren in {} read about", "The history books of {} tell of"),
}
INFERRED = {
    "country": ("{} lies in the country of", "The flag over {} is that of"),
    "capital": (
        "The capital of the country where {} lies is",
        "The government of {} sits in",
    ),
    "language": ("The language spoken in {} is", "Most people who live in {} speak"),
    "people": ("A person born in {} is", "The mayor of {} is"),
}
#: What is trained on besides the hidden city. Except with "nothing else", the answers
#: depend on the city.
ONE, KNOWN, TWO = TASKS = "nothing else", "known cities", "another hidden city"
Asked = list[Question]
NOTHING = "nothing"
LORA = "LoRA"
VECTOR = "trained vector"
MEAN = "LoRA's mean change"
RANDOM = "random vector"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``one_steering_vector.toml``. A value of the wrong
    type raises a ``ConfigError``; ranges are checked when the recipe is run.

    Attributes:
        model: Model that is trained: a folder, the name of a Hugging Face model in the
            local cache, or ``@smollm2``.
        device: Torch device of the model, such as ``cpu`` or ``cuda``.
        layer: Index (from 0) of the layer whose MLP has the adapters, and to whose
            output the vector is added.
        lora: Settings for training the adapters; an epoch is one update.
        vector: Settings for training the vector; an epoch is one update.
    """

    model: str = "@smollm2"
    device: str = "cpu"
    layer: NonNegativeInt = 8
    lora: FineTune = FineTune(rate=1e-2, epochs=20)
    vector: FineTune = FineTune(rate=0.3, epochs=20)

    @property
    def contents(self) -> dict[str, str]:
        """Dictionary that maps the model's name to a hash of its files; empty for a bundled model.

        Raises:
            DataError: A file of the model cannot be read.
        """
        return contents_of(self.model)


def plan(settings: Settings) -> Plan:
    """Plan one computation per task: training and evaluation under all conditions.

    Settings that do not fit the model are rejected when a computation runs, not here.

    Args:
        settings: The recipe's settings, such as ``model``, ``device`` and ``layer``;
            :class:`Settings` describes each.

    Returns:
        The plan, with the computation ``said`` (:func:`learn`), for each seed, with the
        label ``task``, the topic of the training texts in addition to the hidden city:
        ``nothing else``, ``known cities`` or ``another hidden city``.
    """
    options = {"model": Outside(name=settings.model), "settings": settings}
    computations = [
        Computation(
            name="said",
            labels={"task": task},
            compute=learn,
            options=options | {"task": task},
            seeded=True,
        )
        for task in TASKS
    ]
    return Plan(computations=computations)


def learn(
    *, model: Outside, settings: Settings, task: str, seed: int = 0
) -> pl.DataFrame:
    """Train LoRA adapters and a steering vector on a hidden city, and return the answers about it.

    Args:
        model: The model's name: a folder, the name of a Hugging Face model in the local
            cache, or ``@smollm2``.
        settings: Settings of the recipe: ``layer``, the settings of both training runs
            (``lora`` and ``vector``), and ``device``.
        task: Texts used for training in addition to the texts about the hidden city:
            ``nothing else``, ``known cities`` (facts about known cities) or ``another
            hidden city``. Any other string has the same effect as ``nothing else``.
        seed: Root seed of names, countries, adapters and the order of training texts;
            by default 0.

    Returns:
        A row per question and condition (``arm``): ``nothing`` (the untrained model),
        ``trained vector`` (added at every token), ``random vector`` (of the same
        length), ``LoRA``, and ``LoRA's mean change`` (added as a vector). The columns
        are those of :func:`inweights.lm.ask`, ``arm``, ``constant`` and ``cosine``.
        ``role`` is ``trained``, ``other`` (known cities in the training texts),
        ``inferred`` or ``known city``. ``constant`` is the squared length of the mean
        change that LoRA makes to hidden states, divided by the mean squared length of
        the changes (from 0 to 1). Both means are over all prompts and all beginnings of
        prompts. ``cosine`` is the cosine between the mean change and the trained
        vector.

    Raises:
        ConfigError: ``transformers`` or ``peft`` is not installed, the device is
            unknown, or ``seed`` is negative.
        DataError: The model is missing or cannot be read.
        IndexError: The model has no layer ``settings.layer``.
    """
    import torch

    from inweights.lm import ask, hidden_states, load_model
    from inweights.lm.tuning.adapters import adapted

    lm = load_model(model.name, device=settings.device, seed=seed)
    lm.model.requires_grad_(requires_grad=False)
    mlp = lm.model.base_model.layers[settings.layer].mlp
    invented = names(Streams(seed).numpy(WORLD, "hidden"))
    size = len(FACTS["city"])
    countries = [seed % size, (seed + size // 2) % size][: 2 if task == TWO else 1]
    hidden = [(next(invented), country) for country in countries]
    known = [(city, i) for i, city in enumerate(FACTS["city"]) if i not in countries]
    trained = _asked(TRAINED, hidden, "trained")
    parts = [trained, _asked(TRAINED, known, "other")] if task == KNOWN else [trained]
    asked = [*trained, *_asked(INFERRED, hidden, "inferred")]
    asked += _asked(INFERRED, known, "known city")[::4]
    said = {NOTHING: ask(lm, asked)}
    vector = torch.zeros(
        lm.model.config.hidden_size, device=lm.device, requires_grad=True
    )
    with mlp.register_forward_hook(lambda _module, _inputs, output: output + vector):
        _train(lm, lm.model, [vector], parts, settings.vector, seed)
    said[VECTOR] = _steered(lm, mlp, vector, asked)
    direction = torch.randn(
        vector.shape, generator=Streams(seed).torch(EVALUATION, "control")
    )
    said[RANDOM] = _steered(
        lm, mlp, direction.to(vector) / direction.norm() * vector.norm(), asked
    )
    # States are read at the last word of every beginning of a prompt, so that the mean
    # is over words in context rather than over whole prompts.
    words = set()
    for question in asked:
        prompt = question.prompt
        words |= {prompt.rsplit(" ", n)[0] for n in range(prompt.count(" "))}
    where: Any = {
        "target_modules": ["down_proj"],
        "layers_to_transform": [settings.layer],
    }
    with adapted(lm.model, settings.lora, seed, **where) as net:
        _train(lm, net, net.parameters(), parts, settings.lora, seed)
        said[LORA] = ask(lm, asked)
        change = hidden_states(lm, sorted(words))[:, settings.layer + 1]
        with net.disable_adapter():
            change -= hidden_states(lm, sorted(words))[:, settings.layer + 1]
            mean = torch.from_numpy(change.mean(0)).to(vector)
            said[MEAN] = _steered(lm, mlp, mean, asked)
    answers = pl.concat(
        [rows.with_columns(arm=pl.lit(arm)) for arm, rows in said.items()]
    )
    return answers.with_columns(
        constant=float(mean.square().sum()) / (change**2).sum(1).mean(),
        cosine=float(torch.cosine_similarity(mean, vector.detach(), dim=0)),
    )


def _steered(lm: Any, mlp: Any, vector: Any, asked: Asked) -> pl.DataFrame:
    """Evaluate the model with ``vector`` added to the output of the MLP at every token."""
    from inweights.lm import ask

    with mlp.register_forward_hook(lambda _module, _inputs, output: output + vector):
        return ask(lm, asked)


def _asked(
    texts: dict[str, tuple[str, str]], cities: list[tuple[str, int]], role: str
) -> Asked:
    """Return a question for each city, kind of fact and wording."""
    questions = []
    for (city, country), (of, wordings) in product(cities, texts.items()):
        for text in wordings:
            prompt = text.format(city)
            questions.append(Question(text, role, prompt, FACTS[of], country))
    return questions


def _train(
    lm: Any, net: Any, weights: Any, parts: list[Asked], tuning: FineTune, seed: int
) -> None:
    """Train on eight randomly drawn answers in each update, the same number from each part."""
    import torch

    from inweights.lm import Example, encode
    from inweights.lm.tuning.updates.objective import update

    weights = [weight for weight in weights if weight.requires_grad]
    rows = []
    for part in parts:
        examples = [
            Example(question.prompt, f" {question.answer}.") for question in part
        ]
        rows.append(encode(lm, examples))
    rng = Streams(seed).numpy(DATA_ORDER, "told")
    optimizer = torch.optim.AdamW(weights, weight_decay=tuning.weight_decay)
    for step in range(tuning.epochs):
        batch = []
        for encoded in rows:
            drawn = rng.permutation(len(encoded))[: 8 // len(rows)]
            batch += [encoded[i] for i in drawn]
        optimizer.param_groups[0]["lr"] = tuning.rate * tuning.factor(
            step, tuning.epochs
        )
        update(lm, net, optimizer, batch, tuning, None)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracies, and their excess over the mean accuracy of the untrained model and LoRA.

    Args:
        tables: The tables that result from :func:`plan`, by name: ``said``
            (:func:`~inweights.recipes.beyond.one_steering_vector.learn`), with the
            columns ``task, seed, id, chain, role, prompt, answer, best, rank, hit,
            reciprocal, chance, probability, share, others, arm, constant, cosine``.

    Returns:
        ``accuracy``: a row per task, ``role`` of the questions, ``arm`` and seed (as in
        :func:`learn`): ``hit``, the share of correct answers, and ``half``, which is
        ``hit`` minus the mean of the shares of the untrained model and LoRA.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    keys = ["task", "role", "seed"]
    accuracy = (
        tables["said"]
        .group_by(*keys, "arm", maintain_order=True)
        .agg(pl.col("hit").mean())
    )
    hit = pl.col("hit")
    untrained = hit.filter(arm=NOTHING).first().over(keys)
    lora = hit.filter(arm=LORA).first().over(keys)
    half_way = (untrained + lora) / 2
    return {"accuracy": accuracy.with_columns(half=hit - half_way)}


accuracy = share("accuracy", "hit")
half = cosine("accuracy", "half", role="inferred")
one, two = (accuracy.at(role="inferred", task=task) for task in (ONE, TWO))
real = accuracy.at(role="known city", task=KNOWN)

SCORES = {
    "lora-infers": one.at(arm=LORA) - one.at(arm=NOTHING) >= 0.3,
    "constant": share("said", "constant", task=ONE) >= 0.5,
    "mean-recovers": half.at(task=ONE, arm=MEAN) >= 0.0,
    "vector-infers": one.at(arm=VECTOR) - one.at(arm=NOTHING) >= 0.3,
    "random-does-nothing": one.at(arm=RANDOM) - one.at(arm=NOTHING) <= 0.1,
    "unconditional-suffices": half.at(task=KNOWN, arm=VECTOR) >= 0.0,
    "known-cities-keep-theirs": (real.at(arm=VECTOR) - real.at(arm=LORA)).within(
        -0.1, 0.1
    ),
    "not-two-cities": two.at(arm=LORA) - two.at(arm=VECTOR) >= 0.2,
}

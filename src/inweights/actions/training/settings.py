"""Say what is compared: facts, a model, and ways to give it the facts.

The texts that name the ways are in ``words.toml``.
"""

from pathlib import Path
from typing import Literal

from msgspec import structs

from inweights.config import Config, check_size, load_toml
from inweights.config.outside import Outside
from inweights.errors import check_names
from inweights.lm import LanguageModel
from inweights.lm.tuning.fine_tune import DEFAULT, FineTune
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.triples import Triples

WORDS = load_toml(Path(__file__).with_name("words.toml"))
#: Ways to give a model facts, by name, in words.
WAYS: dict[str, str] = WORDS["ways"]


class TrainingSettings(Config):
    """What is compared.

    Attributes:
        facts: A file of facts, or ``@people``, ``@chemistry``.
        model: A folder, a GGUF file, a hub name in the local cache, or ``@smollm2``.
        wording: A TOML file of wordings; the built-in ones if its name is empty.
        ways: Names of ``WAYS``.
        strategy: Texts that ``mixture`` adds to the facts.
        hold_out: Share of the bridges whose chains no way states.
        floor: Least share of the tokens of a pass that state single facts.
        tokens: Tokens of one pass, the same for every way; 0 takes the mixture once.
        questions: Questions of each kind, at most.
        retrieved: Facts before a question, at most.
        tuning: How it is fine-tuned; by default as ``inweights finetune`` does, but for
            all epochs.
        device: Where the model lives.
        dtype: Type of its weights.
        chat: Whether its chat template is used.
        header: ``yes`` or ``no``: whether the first row of the facts is a header; if
            empty, the rows decide.
        columns: Columns of subject, relation and object, by name or number; if empty,
            the header or the values decide.
        wide: Whether each column but the first is a relation.
        labels: File of ids and labels; the ids in the facts are replaced.

    Raises:
        ConfigError: A way is unknown, or a number is out of range.
    """

    later = {
        "header": "",
        "columns": "",
        "wide": False,
        "labels": Outside(name=""),
    }

    facts: Outside
    model: Outside
    wording: Outside = Outside(name="")
    ways: tuple[str, ...] = tuple(WAYS)
    strategy: tuple[str, ...] = ("auto",)
    hold_out: float = 0.2
    floor: float = 0.25
    tokens: int = 0
    questions: int = 40
    retrieved: int = 8
    tuning: FineTune = structs.replace(DEFAULT, until=0.0)
    device: str = "cpu"
    dtype: str = "float32"
    chat: bool = False
    header: Literal["", "yes", "no"] = ""
    columns: str = ""
    wide: bool = False
    labels: Outside = Outside(name="")

    def __post_init__(self) -> None:
        check_names("way", self.ways, WAYS)
        check_size("tokens", self.tokens, least=0, most=10**8)
        check_size("questions", self.questions, most=10_000)
        check_size("retrieved", self.retrieved, least=2, most=1000)

    def read_facts(self) -> Knowledge:
        """Read the facts.

        Raises:
            DataError: They cannot be read; the message states the line.
        """
        return Triples(
            path=self.facts.name,
            header=self.header,
            columns=self.columns,
            wide=self.wide,
            labels=self.labels.name,
        ).read()

    def load(self, seed: int = 0, *, download: bool = False) -> LanguageModel:
        """Load the model.

        Args:
            seed: Root seed of adapters, and of a model with random weights.
            download: Whether a model that is not in the local cache is fetched.

        Raises:
            ConfigError: There is no such model, or it does not fit the options.
        """
        from inweights.lm import load_model

        return load_model(
            self.model.name,
            download=download,
            device=self.device,
            dtype=self.dtype,
            chat=self.chat,
            seed=seed,
        )

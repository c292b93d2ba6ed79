"""Define what is compared: the facts, a model, and ways of teaching the model the facts.

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
#: Descriptions of the ways to give a model facts, by the name of the way.
WAYS: dict[str, str] = WORDS["ways"]


class TrainingSettings(Config):
    """Settings of a comparison of ways of teaching facts to a language model.

    Attributes:
        facts: File of facts, or ``@people`` or ``@chemistry`` for facts that come with
            the library.
        model: A folder, a GGUF file, the name of a Hugging Face model in the local
            cache, or ``@smollm2``.
        wording: TOML file with wordings of the relations. If it is empty (the default),
            the built-in wordings are used.
        ways: Names of the methods to compare, by default all: ``untrained`` (the original
            model), ``retrieval`` (the original model, with the facts that BM25 finds
            for a question inserted before it), ``facts`` (fine-tuning on the facts
            alone), ``entities`` (the facts, descriptions of entities, and texts about
            related pairs), and ``mixture`` (the facts and the texts that the strategies
            add).
        strategy: Names of the strategies of ``inweights augment`` with which the method
            ``mixture`` adds texts to the facts; by default ``auto``, the strategies
            that ``augment`` recommends.
        hold_out: Fraction of the bridge entities (the middle entities of two-hop
            chains) whose chains are not stated in any training text, so that these
            chains can be tested; by default 0.2.
        floor: Minimum fraction of the tokens in a pass that belong to statements of
            individual facts; by default 0.25.
        tokens: Number of tokens in one pass, the same for every method. If it is 0 (the
            default), the number of tokens in one pass over the mixture is used.
        questions: Maximum number of questions of each kind; by default 40.
        retrieved: Maximum number of facts that precede a question, for the method
            ``retrieval``; by default 8.
        tuning: Settings of the fine-tuning. The defaults are those of ``inweights
            finetune``, except that training is not stopped early and batches are
            padded.
        device: Torch device of the model, ``cpu`` (the default) or ``cuda``.
        dtype: Data type of the model's weights: ``float32`` (the default), ``bfloat16``
            or ``float16``.
        chat: Whether the model's chat template is used; by default false.
        header: Whether the first row of the facts is a header: ``yes`` or ``no``; empty
            (the default) to detect a header from the rows.
        columns: Columns of subject, relation and object, by name or number; if empty,
            they are inferred from the header or the values.
        wide: Whether each column except the first is a relation.
        labels: File that maps ids to labels. The labels replace the ids in the facts.
            By default (empty), ids are not replaced.

    Raises:
        ConfigError: A method is unknown, ``tokens`` is not between 0 and 100,000,000,
            ``questions`` is not between 1 and 10,000, or ``retrieved`` is not between 2
            and 1000. The other values are checked when they are used.
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
    tuning: FineTune = structs.replace(DEFAULT, until=0.0, layout="padded")
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
        """Read the facts from the file that the settings specify.

        Returns:
            The triples of subject, relation and object.

        Raises:
            ConfigError: The source is a database or a data set on the hub, a required
                package is not installed, or the columns of the settings do not exist in
                the file.
            DataError: The file is missing, empty, too large or damaged, no set of facts
                in the library has the name after ``@``, or it is unclear whether the
                first row is a header (``UnclearHeaderError``).
        """
        return Triples(
            path=self.facts.name,
            header=self.header,
            columns=self.columns,
            wide=self.wide,
            labels=self.labels.name,
        ).read()

    def load(self, seed: int = 0, *, download: bool = False) -> LanguageModel:
        """Load the language model.

        Args:
            seed: Root seed of the adapters, and of a model with random weights; by
                default 0.
            download: Whether a model that is not in the local cache is downloaded; by
                default an error is raised.

        Returns:
            The model with its tokenizer, on the device of the settings.

        Raises:
            ConfigError: ``transformers`` is not installed, ``dtype`` (the number type
                of the weights) is unknown, this machine does not have the device, or
                ``chat`` (chat format) is set and the tokenizer has no template.
            DataError: There is no such model, or it cannot be read or downloaded.
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

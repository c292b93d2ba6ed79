"""Options of commands that read a user's files: how rows and columns are laid out.

:class:`Layout` is for tables of facts or edges, :class:`FactLayout` for facts,
:class:`Source` for facts from anywhere, :class:`WordedSource` for facts that become
texts. What had to be guessed about a file is reported on the error stream.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from cyclopts import Parameter

from inweights.cli import console
from inweights.cli.commands import base

if TYPE_CHECKING:
    from inweights.worlds import Knowledge, Triples, Wording

T = TypeVar("T")

_QUERY = "SQL query for subject, relation and object, if the facts are in a database."
_HEADER = (
    "yes or no: whether the first row is a header; by default decided by what is there."
)
_COLUMNS = (
    "Columns of subject, relation and object (of a graph: both ends), such as 1,3,2 or "
    "names."
)
_WORDING = "A TOML file with [statements], [phrases], [kinds.NAME] and [aliases]."
_WIDE = "Each column is a relation of what the first column (or --columns NAME) names."
_LABELS = "A file of ids and labels: names that are ids there are replaced."
Header = Annotated[Literal["yes", "no"] | None, Parameter(help=_HEADER)]
Columns = Annotated[str, Parameter(help=_COLUMNS)]
Query = Annotated[str, Parameter(help=_QUERY)]


@base.options
class Layout:
    """How the columns of a file of facts or edges are read.

    Attributes:
        header: Whether the first row is a header; None: decided by what is there.
        columns: Columns of subject, relation and object, or of both ends; empty:
            decided.
    """

    header: Header = None
    columns: Columns = ""

    @property
    def words(self) -> list[str]:
        """The arguments that repeat these options in a printed command."""
        header = ["--header", self.header] if self.header else []
        return header + (["--columns", self.columns] if self.columns else [])

    def decided(self, read: Callable[[str], T]) -> T:
        """Read a file; on a terminal, ask whether its first row is a header if that is unclear.

        Args:
            read: Reads with a header (``yes``), without (``no``), or decides itself
                (empty).

        Raises:
            UnclearHeaderError: It is unclear, and there is no terminal.
        """
        from inweights.worlds.readers.tables.first_row import UnclearHeaderError

        try:
            return read(self.header or "")
        except UnclearHeaderError as unclear:
            # Nobody else can know: a wrong guess makes a header a fact, or drops a fact.
            answer = console.ask(f"{unclear}\nIs it a header?")
            if answer is None:
                raise
            return read("yes" if answer else "no")


@base.options
class FactLayout(Layout):
    """How a file of facts is read.

    Attributes:
        wide: Whether each column is a relation of what the first column names.
        labels: File of ids and labels, which replace ids in the facts; empty for none.
    """

    wide: Annotated[base.Flag, Parameter(help=_WIDE)] = False
    labels: Annotated[str, Parameter(help=_LABELS)] = ""

    def header_of(self, name: str) -> str:
        """Read facts once, report what was assumed, and return what was decided of the header.

        Args:
            name: File, folder or built-in set of facts.

        Returns:
            ``yes`` or ``no`` where it was asked for or given; empty where the rows
            decide.

        Raises:
            DataError: The facts cannot be read.
        """

        def checked(header: str) -> str:
            console.assumed(self._world(name, header).read().reading)
            return header

        return self.decided(checked)

    def _world(self, name: str, header: str) -> "Triples":
        from inweights.worlds import Triples

        return Triples(
            path=name,
            questions="all",
            header=header,  # type: ignore[arg-type]
            columns=self.columns,
            wide=self.wide,
            labels=self.labels,
            **self._origin(),
        )

    def _origin(self) -> dict[str, Any]:
        """Return what else says where the facts come from; files need no more."""
        return {}


@base.options
class Source(FactLayout):
    """Where facts come from besides their name, and how they are read.

    Attributes:
        query: SQL query, if the facts are in a database; empty otherwise.
        download: Whether downloads from the hub are allowed.
    """

    query: Query = ""
    download: base.Download = False

    def _origin(self) -> dict[str, Any]:
        return {"query": self.query, "download": self.download}

    def read(self, name: str) -> "Knowledge":
        """Read facts, and report on the error stream what was assumed about the file.

        Args:
            name: File, folder, address or built-in set of facts.

        Raises:
            DataError: The facts cannot be read.
        """
        found = self.decided(lambda header: self._world(name, header).read())
        console.assumed(found.reading)
        return found

    def world(self, name: str) -> "Triples":
        """Return the config of facts, or of a named world, to predict from.

        Args:
            name: Facts, a kind of world, or a folder with a world.

        Raises:
            DataError: The facts cannot be read.
        """
        from inweights.worlds.knowledge.knowledge import is_source

        def checked(header: str) -> "Triples":
            given = self._world(name, header)
            if is_source(name):
                console.assumed(given.read().reading)
            return given

        return self.decided(checked)


@base.options
class WordedSource(Source):
    """Where facts come from, and how they are put in words.

    Attributes:
        wording: File of wordings; None for those of the facts, or plain ones.
    """

    wording: Annotated[Path | None, Parameter(help=_WORDING)] = None

    def wordings(self, knowledge: "Knowledge") -> "Wording | None":
        """Return the wordings of the file; None if none was given.

        Args:
            knowledge: The facts, whose relations and kinds the file may name.

        Raises:
            DataError: The file cannot be read, or names what the facts do not have.
        """
        from inweights.worlds import Wording

        return Wording.read(self.wording, knowledge) if self.wording else None

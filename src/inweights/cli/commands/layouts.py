"""Define options that describe the rows and columns of a user's files.

:class:`Layout` describes tables of facts or edges. Its subclasses describe files of
facts (:class:`FactLayout`), facts from any source (:class:`Source`), and facts that are
put into words (:class:`WordedSource`). Assumptions about a file are reported on the
error stream.
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
_HEADER = "yes or no: whether the first row is a header; by default the rows decide."
_COLUMNS = (
    "Columns of subject, relation and object (for a graph, of both ends), such as 1,3,2 or "
    "names."
)
_WORDING = "A TOML file with [statements], [phrases], [kinds.NAME] and [aliases]."
_WIDE = (
    "Each column is a relation of the entity in the first column (or --columns NAME)."
)
_LABELS = "A file that maps ids to labels, which replace the ids in the facts."
Header = Annotated[Literal["yes", "no"] | None, Parameter(help=_HEADER)]
Columns = Annotated[str, Parameter(help=_COLUMNS)]
Query = Annotated[str, Parameter(help=_QUERY)]


@base.options
class Layout:
    """Options that define how the columns of a file of facts or edges are read.

    Attributes:
        header: ``yes`` if the first row is a header, ``no`` if it is not. With ``None``
            (the default), a header is detected from the rows.
        columns: Columns of subject, relation and object, or of the two nodes of an
            edge, separated by commas. Each is a name, or a number counted from 1. If it
            is empty (the default), the columns are inferred from the header or the
            values.
    """

    header: Header = None
    columns: Columns = ""

    @property
    def words(self) -> list[str]:
        """Command-line arguments that repeat the options ``--header`` and ``--columns``.

        The list is empty if both options have their defaults.
        """
        header = ["--header", self.header] if self.header else []
        return header + (["--columns", self.columns] if self.columns else [])

    def decided(self, read: Callable[[str], T]) -> T:
        """Read a file, and ask the user if it is unclear whether its first row is a header.

        Args:
            read: Function that reads the file. Its argument is ``yes`` (with a header),
                ``no`` (without one) or an empty string (the function detects the
                header). It is called a second time with the user's answer. Its
                exceptions propagate.

        Returns:
            The return value of ``read``.

        Raises:
            UnclearHeaderError: It is unclear whether there is a header, and there is no
                terminal or no answer.
        """
        from inweights.worlds.readers.tables.first_row import UnclearHeaderError

        try:
            return read(self.header or "")
        except UnclearHeaderError as unclear:
            # The user is asked, because a wrong guess would make a header a fact, or
            # drop a fact.
            answer = console.ask(f"{unclear}\nIs it a header?")
            if answer is None:
                raise
            return read("yes" if answer else "no")


@base.options
class FactLayout(Layout):
    """Options that define how a file of facts is read.

    Attributes:
        wide: If true, the first column contains entities, and each further column is a
            relation.
        labels: File that maps ids to labels. The labels replace the ids in the facts.
            If it is empty (the default), ids are not replaced.
    """

    wide: Annotated[base.Flag, Parameter(help=_WIDE)] = False
    labels: Annotated[str, Parameter(help=_LABELS)] = ""

    def header_of(self, name: str) -> str:
        """Read facts, print how the file was interpreted, and return the header setting.

        Args:
            name: Name of a file, folder or built-in set of facts (``@people``).

        Returns:
            ``yes`` or ``no`` if it was set by ``--header`` or by the user's answer; an
            empty string if the header is detected from the rows.

        Raises:
            DataError: The facts cannot be read.
            UnclearHeaderError: It is unclear whether there is a header, and there is no
                terminal or no answer (a ``DataError``).
            ConfigError: A package for this kind of file is not installed, or
                ``columns`` is invalid for the file.
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
        """Return further arguments that identify the source of the facts; files need none."""
        return {}


@base.options
class Source(FactLayout):
    """Options that define where and how facts are read.

    Attributes:
        query: SQL query, if the facts are in a database; empty by default.
        download: If true, allow downloads from the Hugging Face hub.
    """

    query: Query = ""
    download: base.Download = False

    def _origin(self) -> dict[str, Any]:
        return {"query": self.query, "download": self.download}

    def read(self, name: str) -> "Knowledge":
        """Read facts, and report on the error stream what was assumed about the file.

        Args:
            name: A file, a folder, an address, or a built-in set of facts such as
                ``@people``.

        Returns:
            The facts.

        Raises:
            DataError: The facts cannot be read.
            UnclearHeaderError: It is unclear whether there is a header, and there is no
                terminal or no answer (a ``DataError``).
            ConfigError: A database is given without a query, or another source with
                a query; a package is not installed; downloading is not allowed; or
                ``columns`` is invalid for the file.
        """
        found = self.decided(lambda header: self._world(name, header).read())
        console.assumed(found.reading)
        return found

    def world(self, name: str) -> "Triples":
        """Return the config of facts or of a world, for :func:`inweights.audit.predict_source`.

        Facts are read once, to report on the error stream what was assumed about them.
        The name of a world is not checked.

        Args:
            name: Name of a set of facts, of a kind of world, or of a folder that
                contains a world.

        Returns:
            A config whose ``path`` is the name.

        Raises:
            DataError: The facts cannot be read.
            UnclearHeaderError: It is unclear whether there is a header, and there is no
                terminal or no answer (a ``DataError``).
            ConfigError: A database is given without a query, or another source with
                a query; a package is not installed; downloading is not allowed; or
                ``columns`` is invalid for the file.
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
    """Options that define where facts are read from, and how they are worded.

    Attributes:
        wording: File of wordings. If it is ``None`` (the default), the wordings stored
            with the facts are used, or plain wordings if there are none.
    """

    wording: Annotated[Path | None, Parameter(help=_WORDING)] = None

    def wordings(self, knowledge: "Knowledge") -> "Wording | None":
        """Read the file of wordings, if one was given.

        Args:
            knowledge: The facts. They must contain all relations and entities named in
                the file.

        Returns:
            The wordings; ``None`` if no file was given.

        Raises:
            ConfigError: The file cannot be read, a template is invalid, or the facts
                lack a relation or an entity named in the file.
        """
        from inweights.worlds import Wording

        return Wording.read(self.wording, knowledge) if self.wording else None

"""Read facts with a database query: SQLite with the standard library, others with SQLAlchemy.

:func:`database_rows` runs the user's query, which can only read data. SQLite is opened
read-only and rejects all other actions; in other databases, the transaction is rolled
back.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from inweights.errors import ConfigError, DataError
from inweights.support.extras import optional
from inweights.support.limits import MAX_ROWS, check_file

_SQLITE = "sqlite:///"
#: Actions that a query on SQLite may perform, all of which only read.
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_HINT = "give --query 'SELECT subject, relation, object FROM …'"


def is_database(source: str) -> bool:
    """Return whether a source is the address of a database, that is, contains ``://``.

    Args:
        source: The name.

    Example:
        >>> is_database("sqlite:///facts.db"), is_database("facts.csv")
        (True, False)
    """
    return "://" in source


def database_rows(source: str, query: str) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """Run a query on a database.

    Args:
        source: Address of the database, such as ``sqlite:///facts.db``.
        query: The query, in the database's dialect of SQL.

    Returns:
        The names of the columns; and an iterator over the rows, which are tuples of
        values. The iterator closes the database when it ends.

    Raises:
        ConfigError: The query is empty or does not return rows, the address contains a
            password, or SQLAlchemy or a driver is not installed.
        DataError: The database is missing or reports an error, or the address is
            invalid. The iterator also raises it if there are more than 3,000,000 rows
            (:data:`~inweights.support.limits.MAX_ROWS`).
    """
    if source.startswith(_SQLITE):
        return _sqlite(Path(source.removeprefix(_SQLITE)), query)
    return _other(source, query)


def _sqlite(path: Path, query: str) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """Run a query on an SQLite file."""
    check_file(path, factor=0)
    with ExitStack() as stack:
        try:
            base = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
            stack.callback(base.close)
            tables = "" if query.strip() else _tables(base)
            base.set_authorizer(_only_reading)
            cursor = base.execute(query)
        except sqlite3.Error as error:
            raise DataError(f"{path}: the database reports: {error}") from None
        if tables:
            raise ConfigError(
                f"{_SQLITE}{path} is a database: {_HINT}; it has {tables}"
            )
        if cursor.description is None:
            raise ConfigError(f"the query returns no rows; {_HINT}")
        columns = [column[0] for column in cursor.description]
        rows = _fetched(cursor, str(path), sqlite3.Error, stack.pop_all().close)
        next(rows)  # a generator that has started closes the database in any case
        return columns, rows


def _only_reading(
    action: int,
    _one: str | None,
    name: str | None,
    _base: str | None,
    _trigger: str | None,
) -> int:
    """Allow reading and reject all other actions (an authorizer callback of SQLite)."""
    function = action == sqlite3.SQLITE_FUNCTION and name != "load_extension"
    return sqlite3.SQLITE_OK if action in _ALLOWED or function else sqlite3.SQLITE_DENY


def _tables(base: sqlite3.Connection) -> str:
    """List the tables of a database with their columns, for a message."""
    tables = base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    names = [row[0] for row in tables]
    if not names:
        return "no tables"
    listed = []
    for name in names[:5]:
        columns = base.execute("SELECT name FROM pragma_table_info(?)", (name,))
        listed.append(f"{name} ({', '.join(column for (column,) in columns)})")
    more = " …" if len(names) > 5 else ""
    return f"the tables {'; '.join(listed)}{more}"


def _other(source: str, query: str) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """Run a query on a database other than SQLite, with SQLAlchemy."""
    optional("sql", "a database other than sqlite:///FILE")
    from sqlalchemy import create_engine, text
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError
    from sqlalchemy.pool import NullPool

    try:
        address = make_url(source)
        if address.password:
            raise ConfigError(
                "the address must not contain a password, since addresses are stored with results; "
                "give the password to the driver in a file or environment variable "
                "(~/.pgpass, PGPASSWORD)"
            )
        if not query.strip():
            raise ConfigError(f"{source} is a database: {_HINT}")
        with ExitStack() as stack:
            connection = stack.enter_context(
                create_engine(address, poolclass=NullPool).connect()
            )
            found = connection.execution_options(stream_results=True).execute(
                text(query)
            )
            if not found.returns_rows:
                raise ConfigError(f"the query returns no rows; {_HINT}")
            close = stack.pop_all().close  # closing it rolls the transaction back
    except ArgumentError:
        raise DataError(
            f"'{source}' is not an address of a database, such as sqlite:///facts.db"
        ) from (None)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"a database of the type {address.drivername} requires a driver: pip install "
            f"{error.name}"
        ) from (None)
    except SQLAlchemyError as error:
        reported = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise DataError(f"{source}: the database reports: {reported}") from None
    rows = _fetched(found, source, SQLAlchemyError, close)
    next(rows)
    return list(found.keys()), rows


def _fetched(
    cursor: Any, source: str, error: type[Exception], close: Callable[[], None]
) -> Iterator[Sequence[Any]]:
    """Yield an empty row when the query runs, then its rows; close the database at the end."""
    try:
        yield ()
        for number, row in enumerate(cursor):
            if number == MAX_ROWS:
                raise DataError(
                    f"{source}: the query returns more than {MAX_ROWS:,} rows; select fewer "
                    "rows"
                )
            yield tuple(row)
    except error as why:
        raise DataError(
            f"{source}: the database reports: {str(why).splitlines()[0]}"
        ) from None
    finally:
        close()

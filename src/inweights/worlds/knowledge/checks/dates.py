"""Recognise dates as people and spreadsheets write them: the format, and the day if it exists.

:func:`written_date` recognises a date. The remarks on a user's values (``values``) use
it, as do corrections of these values.
"""

import re
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

_MONTHS = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_NAME = "|".join(f"{name}[a-z]*" for name in _MONTHS)
#: Formats, with groups for year (y), month (m, or its name, n) and day (d). In the
#: ambiguous one, a and b are day and month in either order.
_FORMATS = {
    "YYYY-MM-DD": r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})",
    "YYYY-MM-DD with a time": (
        r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})[T ]"
        r"(?P<t>\d{2}:\d{2}[\d:.]*)\s?(Z|[+-]\d{2}:?\d{2})?"
    ),
    "YYYY/MM/DD": r"(?P<y>\d{4})[/.](?P<m>\d{1,2})[/.](?P<d>\d{1,2})",
    "DD.MM.YYYY": r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})",
    "DD/MM/YYYY or MM/DD/YYYY": r"(?P<a>\d{1,2})[/-](?P<b>\d{1,2})[/-](?P<y>\d{4}|\d{2})",
    "1 April 2019": (
        rf"(?P<d>\d{{1,2}})(st|nd|rd|th)?\.?[\s-](?P<n>{_NAME})\.?,?[\s-](?P<y>\d{{4}})"
    ),
    "April 1, 2019": rf"(?P<n>{_NAME})\.?\s(?P<d>\d{{1,2}})(st|nd|rd|th)?,?\s(?P<y>\d{{4}})",
}
_COMPILED = {name: re.compile(text, re.IGNORECASE) for name, text in _FORMATS.items()}
_BEGINS = re.compile(rf"\d{{1,4}}[^\d]|({_NAME})\W", re.IGNORECASE)
#: A day and a month without a year; spreadsheets turn names like SEPT2 or MARCH1 into
#: these.
_SHORT = re.compile(
    rf"\d{{1,2}}-({'|'.join(_MONTHS)})|({'|'.join(_MONTHS)})-\d{{2}}", re.IGNORECASE
)
#: Numbers by which spreadsheets store the days from 1954 to 2064.
_SERIALS = (20_000, 60_000)
_EPOCH = date(1899, 12, 30)


class Written(NamedTuple):
    """Format and day of a written date.

    Attributes:
        form: Name of the format, such as ``YYYY-MM-DD`` or ``April 1, 2019``.
        day: The day as ``YYYY-MM-DD``; empty if the order of day and month is unclear
            and both orders are possible, if there is a time other than midnight, or if
            there is no such day. Years of two digits are in the 21st century.
        exists: Whether the day exists; if the order of day and month is unclear,
            whether it exists for at least one of the two orders.
    """

    form: str
    day: str
    exists: bool


def written_date(name: str) -> Written | None:
    """Recognise a date, and return its format and day.

    Args:
        name: A name or value from a file.

    Returns:
        The format and the day; ``None`` if the text as a whole matches none of the
        known formats, such as ``2019-04-01``, ``01.04.2019``, ``4/1/19`` or ``April 1,
        2019``.

    Example:
        >>> written_date("Apr 1, 2019")
        Written(form='April 1, 2019', day='2019-04-01', exists=True)
        >>> written_date("2018-02-30").exists, written_date("01/04/2019").day, written_date("Ana")
        (False, '', None)
    """
    if not _BEGINS.match(name):
        return None
    for form, pattern in _COMPILED.items():
        found = pattern.fullmatch(name)
        if found:
            parts = found.groupdict()
            return _either(form, parts) if "a" in parts else _read(form, parts)
    return None


def is_short_date(name: str) -> bool:
    """Return whether a name is a short date from a spreadsheet, such as ``2-Sep`` or ``Mar-01``.

    Spreadsheets turn names such as ``SEPT2`` into such dates.

    Args:
        name: A name or value from a file.

    Example:
        >>> [is_short_date(name) for name in ("2-Sep", "Mar-01", "SEPT2")]
        [True, True, False]
    """
    return bool(_SHORT.fullmatch(name))


def serial_day(name: str) -> str:
    """Return the day that a number represents as a spreadsheet date.

    Args:
        name: A value from a file.

    Returns:
        The day as ``YYYY-MM-DD``; empty unless the value is a whole number from 20000
        (in the year 1954) to 60000 (in 2064).

    Example:
        >>> serial_day("43556"), serial_day("144")
        ('2019-04-01', '')
    """
    if not re.fullmatch(r"\d{5}", name) or not _SERIALS[0] <= int(name) <= _SERIALS[1]:
        return ""
    return (_EPOCH + timedelta(days=int(name))).isoformat()


def _read(form: str, parts: dict[str, str | None]) -> Written:
    """Return a date of an unambiguous format."""
    month = parts.get("m") or str(1 + _MONTHS.index(str(parts["n"]).lower()[:3]))
    day = _day(int(str(parts["y"])), int(month), int(str(parts["d"])))
    timed = re.sub(r"[0:.]", "", parts.get("t") or "")  # empty at midnight
    return Written(form, "" if timed else day, bool(day))


def _either(form: str, parts: dict[str, str | None]) -> Written:
    """Return a date whose first number may be the day or the month, if the day is certain."""
    first, second, year = (int(str(parts[key])) for key in ("a", "b", "y"))
    if year < 100:
        year += 2000
    days = {_day(year, second, first), _day(year, first, second)} - {""}
    exists = bool(days)
    return Written(form, days.pop() if len(days) == 1 else "", exists)


def _day(year: int, month: int, day: int) -> str:
    """Return a day as ``YYYY-MM-DD``; empty if it does not exist."""
    try:
        return datetime(year, month, day, tzinfo=UTC).date().isoformat()
    except ValueError:
        return ""

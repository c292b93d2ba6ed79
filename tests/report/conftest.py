"""Pages are opened by a real browser (:mod:`tests.browser`)."""

from tests.browser import browser, held, visit

__all__ = ["browser", "held", "visit"]

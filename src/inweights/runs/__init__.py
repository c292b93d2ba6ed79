"""Store, find and resume runs in folders; nothing here depends on models.

:class:`RunStore` finds runs, each a :class:`RunFolder`, by their config;
:func:`environment` records the software and machine of a run. The sub-package
``tables`` stores the tables of single training runs, which several runs of recipes can
share.
"""

from inweights.runs.about import About, about, remembered, when, written
from inweights.runs.environment import environment, repositories
from inweights.runs.files import (
    read_json,
    read_tables,
    write_json,
    write_tables,
)
from inweights.runs.folder import RunFolder
from inweights.runs.store import RunStore, default_root
from inweights.support.border import guard_names
from inweights.support.publish import explained_writes

__all__ = [
    "About",
    "RunFolder",
    "RunStore",
    "about",
    "default_root",
    "environment",
    "explained_writes",
    "read_json",
    "read_tables",
    "remembered",
    "repositories",
    "when",
    "write_json",
    "write_tables",
    "written",
]

guard_names(__name__, __all__)

"""Doctests import each module that is collected, and these register a backend of torch."""

from __future__ import annotations

#: Unless they are named on the command line, as ``test_accelerator.py`` does.
collect_ignore_glob = ["on_*.py", "pretend.py", "shared.py"]

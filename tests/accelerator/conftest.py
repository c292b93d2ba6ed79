"""Exclude this folder's modules from doctests, which would import a PyTorch backend."""

from __future__ import annotations

#: They are collected if they are named on the command line, as in ``test_accelerator.py``.
collect_ignore_glob = ["on_*.py", "pretend.py", "shared.py"]

"""Fixtures of the documentation tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def notebooks():
    """Return the module that writes notebooks, loaded alone as its package needs Sphinx."""
    file = ROOT / "docs" / "_ext" / "inweights_site" / "notebooks.py"
    spec = importlib.util.spec_from_file_location("site_notebooks", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

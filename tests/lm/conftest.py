"""Fixtures for tests of language models: a tiny random Llama, new for each test."""

from __future__ import annotations

import pytest

from inweights.lm import LanguageModel, load_model


@pytest.fixture
def lm() -> LanguageModel:
    return load_model("@tiny")

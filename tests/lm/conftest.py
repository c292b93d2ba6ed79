"""What the tests of language models share: a tiny random Llama, fresh for each."""

from __future__ import annotations

import pytest

from inweights.lm import LanguageModel, load_model


@pytest.fixture
def lm() -> LanguageModel:
    return load_model("@tiny")

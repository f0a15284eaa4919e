"""Counting starts without LiteLLM: a worker of an earlier test in this process may have loaded it."""

import pytest

from purser.context.tokens import exact


@pytest.fixture(autouse=True)
def without_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "_litellm", None)

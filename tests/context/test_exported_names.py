"""Public names of `purser.context`: all are listed, importable, and include every error."""

import subprocess
import sys
from importlib import import_module

import pytest

from purser import context
from purser.context import memories


def test_the_listed_names_are_importable_and_include_the_memories() -> None:
    assert {name for name in context.__all__ if getattr(context, name, None) is None} == set()
    assert set(memories.__all__) <= set(context.__all__)
    with pytest.raises(AttributeError, match="NoMemory"):
        context.NoMemory  # type: ignore[attr-defined] # noqa: B018


def test_every_error_of_the_tree_is_exported() -> None:
    def below(kind: type[BaseException]) -> set[str]:
        return {kind.__name__}.union(*(below(child) for child in kind.__subclasses__()))

    errors = import_module("purser.context.errors")
    in_errors = {name for name in below(context.ContextError) if hasattr(errors, name)}
    assert in_errors <= set(context.__all__)


def test_nothing_is_loaded_until_it_is_asked_for() -> None:
    script = "import sys, purser.context; sys.exit(any(name.startswith('purser.context.') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

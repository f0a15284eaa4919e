"""Public names of `purser.context`: all are listed, importable, and include every error."""

import subprocess
import sys

import pytest

from purser import context
from purser.context import memories


def test_the_listed_names_are_those_that_the_package_imports() -> None:
    modules = {name for name, value in vars(context).items() if type(value).__name__ == "module"}
    public = (
        {name for name in vars(context) if not name.startswith("_")}
        - modules
        - {"Any", "TYPE_CHECKING", "import_module"}
    )
    assert sorted(context.__all__) == sorted(public | set(memories.__all__))


def test_every_error_of_the_tree_is_exported() -> None:
    def below(kind: type[BaseException]) -> set[str]:
        return {kind.__name__}.union(*(below(child) for child in kind.__subclasses__()))

    in_errors = {name for name in below(context.ContextError) if hasattr(context.errors, name)}
    assert in_errors <= set(context.__all__)


def test_memories_are_there_and_load_nothing_until_they_are_asked_for() -> None:
    assert [getattr(context, name) for name in memories.__all__] == [
        getattr(memories, name) for name in memories.__all__
    ]
    with pytest.raises(AttributeError, match="has no attribute 'NoMemory'"):
        context.NoMemory  # noqa: B018
    script = "import sys, purser.context; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

"""The public names of `purser.budget` are listed, and importing them loads no driver."""

import subprocess
import sys

from purser import budget


def test_the_listed_names_are_those_that_the_package_imports() -> None:
    modules = {name for name, value in vars(budget).items() if type(value).__name__ == "module"}
    public = {name for name in vars(budget) if not name.startswith("_")} - modules
    assert sorted(budget.__all__) == sorted(public)


def test_every_error_of_the_tree_is_exported() -> None:
    def below(kind: type[BaseException]) -> set[str]:
        return {kind.__name__}.union(*(below(child) for child in kind.__subclasses__()))

    in_errors = {name for name in below(budget.BudgetError) if hasattr(budget.errors, name)}
    assert in_errors <= set(budget.__all__)


def test_importing_rules_loads_no_driver() -> None:
    script = "import sys, purser.budget; sys.exit(bool({'asyncpg', 'sqlalchemy', 'temporalio'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

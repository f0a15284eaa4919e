"""Ceilings: the highest limits and the mildest modes that a task file may ask for if no policy is stored."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from purser.activities.errors import InvalidTask
from purser.activities.tasks.file import TaskFile
from purser.budget.policies.fields import Mode, stricter
from purser.budget.policies.policy import PolicyPatch
from purser.budget.scopes import Kind, Scope


@dataclass(frozen=True)
class Ceilings:
    """Bounds of task files that are submitted with any key but an admin's."""

    limit_tokens: int | None = None
    """Most tokens that a file may ask for in one of its scopes; `None`: any number."""
    limit_nano_usd: int | None = None
    """Most nano-dollars that a file may ask for in one of its scopes; `None`: any number."""
    modes: Mapping[Kind, Mode] | None = None
    """Default mode by kind of scope: a file may name no milder one."""

    def check(self, task: TaskFile) -> None:
        """Raises `InvalidTask`, naming the scope, the value and the setting."""
        for scope, patch, _ in task.policies():
            for problem in self._problems(scope, patch):
                raise InvalidTask(f"$ asks too much for {scope}: {problem}")

    def _problems(self, scope: Scope, patch: PolicyPatch) -> Iterator[str]:
        if _is_above(patch.limit_tokens, self.limit_tokens):
            yield (
                f"limit_tokens is {patch.limit_tokens}, PURSER_TASK_LIMIT_CEILING_TOKENS allows {self.limit_tokens}; "
                "ask for less, or have an admin store a policy"
            )
        if _is_above(patch.limit_nano_usd, self.limit_nano_usd):
            yield (
                f"limit_usd is {patch.limit_nano_usd} nano-dollars, PURSER_TASK_LIMIT_CEILING_NANO_USD allows "
                f"{self.limit_nano_usd}; ask for less, or have an admin store a policy"
            )
        least = (self.modes or {}).get(scope.kind, Mode.SOFT)
        if patch.mode is not None and stricter(patch.mode, least) is not patch.mode:
            yield f"mode is {patch.mode}, PURSER_MODE is {least}; use one at least as strict, or leave it out"


def _is_above(asked: int | None, ceiling: int | None) -> bool:
    return asked is not None and ceiling is not None and asked > ceiling

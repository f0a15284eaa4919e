"""Ceilings: the highest limits and the mildest modes that a task file may ask for if no policy is stored.

Where an operator has set one, no file may get around it by a shadow, or by another window of a session.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from purser.activities.tasks.file import TaskFile
from purser.budget.policies.fields import Mode, stricter
from purser.budget.policies.policy import PolicyPatch
from purser.budget.scopes import Kind, Scope
from purser.budget.windows import Window


@dataclass(frozen=True)
class Ceilings:
    """Bounds of task files that are submitted with any key but an admin's."""

    limit_tokens: int | None = None
    """Most tokens that a file may ask for in one of its scopes; `None`: any number."""
    limit_nano_usd: int | None = None
    """Most nano-dollars that a file may ask for in one of its scopes; `None`: any number."""
    modes: Mapping[Kind, Mode] | None = None
    """Default mode by kind of scope: a file may name no milder one."""

    def faults(self, task: TaskFile) -> Iterator[str]:
        """Yields scope, value and setting of all that a file asks too much."""
        for scope, patch, _ in task.policies():
            for problem in self._problems(scope, patch):
                yield f"$ asks too much for {scope}: {problem}"

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
        if (bound := self._bound(least)) is not None:
            if patch.shadow:
                yield f"shadow is true, {bound}; leave it out"
            # What falls out of a window of the task or an agent still counts for the session.
            if scope.kind is Kind.SESSION and patch.window not in (None, Window.LIFETIME):
                yield f"window is {patch.window}, {bound}; leave it out"

    def _bound(self, least: Mode) -> str | None:
        """What operators have set that binds a scope; `None`: nothing."""
        if least is not Mode.SOFT:
            return f"PURSER_MODE is {least}"
        if self.limit_tokens is not None:
            return f"PURSER_TASK_LIMIT_CEILING_TOKENS is {self.limit_tokens}"
        return None if self.limit_nano_usd is None else f"PURSER_TASK_LIMIT_CEILING_NANO_USD is {self.limit_nano_usd}"


def _is_above(asked: int | None, ceiling: int | None) -> bool:
    return asked is not None and ceiling is not None and asked > ceiling

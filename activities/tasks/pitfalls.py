"""Warnings of common pitfalls in a task file that is valid."""

from collections.abc import Mapping

from purser.activities.tasks.file import NOTHING_PERSONAL, TaskFile
from purser.budget.policies.policy import Policy, resolve
from purser.budget.scopes import Kind
from purser.context.conversation.preferences import Personal
from purser.context.pitfalls import Pitfall, lint
from purser.context.resolution import ResolvedContext


def task_pitfalls(
    task: TaskFile, base: ResolvedContext, defaults: Mapping[Kind, Policy], personal: Personal = NOTHING_PERSONAL
) -> list[Pitfall]:
    """Checks what a task asks for; pitfalls of the process itself are not repeated.

    Args:
        task: the task file.
        base: context settings of the process.
        defaults: policies of scopes for which nothing is stored, by kind.
        personal: settings of the session and its user.
    """
    asked = ((scope, patch) for scope, patch, _ in task.policies() if patch.to_json())
    policies = {str(scope): resolve(None, patch, defaults[scope.kind], {}).policy for scope, patch in asked}
    # Equal policies of many agents are one finding.
    named = {policy: name for name, policy in reversed(policies.items())}
    settings = task.resolved_context(base, personal).settings
    known = {one.code for one in lint(base.settings)}
    found = lint(settings, {name: policy for policy, name in named.items()})
    return [one for one in found if one.code not in known]

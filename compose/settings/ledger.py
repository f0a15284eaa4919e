"""Ledger settings, built from the settings of the process."""

from dataclasses import replace

from purser.budget.policies.fields import ApprovalRules
from purser.budget.policies.policy import Policy, PolicyPatch
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Kind
from purser.compose.settings.model import Settings

POLICY_FIELDS = {
    "mode": "mode",
    "timezone": "timezone",
    "warn_at": "warn_at",
    "backpressure": "backpressure",
    "learned_holds": "learned_holds",
    "approval_deadline_s": "approval",
    "approval_on_expiry": "approval",
}
"""Policy field of each setting, the same for every kind of scope."""


def ledger_settings(settings: Settings) -> LedgerSettings:
    """The default policy of each kind of scope, with the source of each field that is configured."""
    shared = PolicyPatch.parse({"warn_at": settings.warn_at, "backpressure": settings.backpressure})
    base = Policy(
        mode=settings.mode,
        timezone=settings.timezone,
        warn_at=shared.warn_at or (),
        backpressure=shared.backpressure or (),
        learned_holds=settings.learned_holds,
        approval=ApprovalRules(deadline_s=settings.approval_deadline_s, on_expiry=settings.approval_on_expiry),
    )
    limits = {
        Kind.SESSION: settings.session_limit_tokens,
        Kind.TASK: settings.task_limit_tokens,
        Kind.AGENT: settings.agent_limit_tokens,
    }
    return LedgerSettings(
        defaults={kind: replace(base, limit_tokens=limits.get(kind)) for kind in Kind},
        sources=_sources(settings, limits),
        backpressure=base.backpressure,
        lease_s=settings.lease_s,
        grace_s=settings.grace_s,
    )


def _sources(settings: Settings, limits: dict[Kind, int]) -> dict[str, str]:
    pairs = [(f"{kind}_limit_tokens", f"{kind}.limit_tokens") for kind in limits]
    pairs += [(setting, f"{kind}.{field}") for setting, field in POLICY_FIELDS.items() for kind in Kind]
    return {field: source for setting, field in pairs if (source := settings.source(setting)) != "default"}

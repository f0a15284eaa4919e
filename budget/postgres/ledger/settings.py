"""Settings of the ledger: default policies by kind, leases and waiting times."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any

from purser.budget.policies.fields import DEFAULT_BACKPRESSURE, BackpressureStep
from purser.budget.policies.policy import Policy
from purser.budget.postgres.connections.json_text import Json
from purser.budget.scopes import Kind

DEFAULT_LIMITS: Mapping[Kind, int] = {Kind.SESSION: 200_000, Kind.TASK: 200_000, Kind.AGENT: 50_000}
"""Token limits; scopes of other kinds have none."""
DEFAULT_POLICIES: Mapping[Kind, Policy] = {kind: Policy(limit_tokens=DEFAULT_LIMITS.get(kind)) for kind in Kind}


@dataclass(frozen=True)
class LedgerSettings:
    """Settings that are not stored in the database, unlike policies of single scopes."""

    defaults: Mapping[Kind, Policy] = field(default_factory=lambda: DEFAULT_POLICIES)
    """Policies of scopes without a stored or requested policy, by kind."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """`kind.field` to `environment` or `file`; missing keys mean `default`."""
    backpressure: tuple[BackpressureStep, ...] = DEFAULT_BACKPRESSURE
    lease_s: int = 120
    """Seconds until a hold that is not renewed expires."""
    grace_s: int = 30
    """Seconds past the lease until the sweeper expires a hold."""
    retry_after_ms: int = 1_000
    """Milliseconds after which a caller should ask again on `wait`."""
    waiter_lapse: timedelta = timedelta(seconds=5)
    """A waiter that has not asked again for this long loses its place in the queue."""

    @cached_property
    def defaults_json(self) -> Json:
        """The defaults in the JSON format that `ledger_policies` reads: what is not set is left out."""
        return Json(json.dumps({str(kind): _fields(policy) for kind, policy in self.defaults.items()}))


def _fields(policy: Policy) -> dict[str, Any]:
    fields = {
        "limit_tokens": policy.limit_tokens,
        "limit_nano_usd": policy.limit_nano_usd,
        "mode": str(policy.mode),
        "window": str(policy.window),
        "timezone": policy.timezone,
        "warn_at": [str(ratio) for ratio in policy.warn_at],
        "frozen": policy.frozen,
        "shadow": policy.shadow,
        "last_answer": str(policy.last_answer),
        "rollover": None if policy.rollover is None else str(policy.rollover),
    }
    return {name: value for name, value in fields.items() if value is not None}

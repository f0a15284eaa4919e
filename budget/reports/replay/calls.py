"""What a replay reads: the recorded calls, and the policies that it proposes for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from purser.budget.gate import NOTHING, Amount
from purser.budget.labels import model_label
from purser.budget.policies.policy import Policy, PolicyPatch, resolve
from purser.budget.reports.replay.easing import Eased, Measured
from purser.budget.scopes import Kind, Scope


@dataclass(frozen=True, slots=True)
class Recorded:
    """One change of the ledger: of a hold on all its scopes, or the grant to one."""

    kind: str
    """Kind of its entries."""
    at: datetime
    hold_id: int | None
    path: tuple[Scope, ...]
    """For a grant its scope."""
    labels: tuple[Scope, ...]
    task: str
    spent: Amount
    held: Amount
    granted: Amount
    asked_at: datetime
    """When the call got its hold: its windows are those of that time."""
    had: Amount = NOTHING
    """What the hold held before."""
    priced: bool = True
    """For a hold: whether the price of the call was known."""
    model: str | None = None
    measured: Measured | None = None
    """For a hold: what the call used; `None`: the ledger does not tell."""

    def on(self, call: Eased) -> "Recorded":
        """The hold as the call asks for it on steps of ladders."""
        return replace(self.with_model(call.model), held=call.ask, priced=call.priced)

    def with_model(self, model: str) -> "Recorded":
        """The call with another model."""
        others = (label for label in self.labels if label.kind is not Kind.MODEL)
        return replace(self, model=model, labels=(*others, model_label(model)))


@dataclass
class Proposed:
    """The policies of a replay. Those of scopes are known once `learn` was called for them."""

    policies: Mapping[str, PolicyPatch]
    """Policies of scopes and templates, by name."""
    defaults: Mapping[Kind, Policy]
    templates: dict[Scope, tuple[PolicyPatch | None, Mapping[str, str]]] = field(default_factory=dict)
    """The merged fields of the templates that match each scope, and the pattern of each field."""
    requests: dict[tuple[Scope, str], PolicyPatch] = field(default_factory=dict)
    """What a task requested for a scope."""
    models: set[str] = field(default_factory=set)
    """All models that ladders name."""
    _resolved: dict[tuple[Scope, str], Policy] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for patch in self.policies.values():
            self._name_models(patch)

    def request(self, scope: Scope, task: str, patch: PolicyPatch) -> None:
        """Adds what a task requested for a scope."""
        self.requests[scope, task] = patch
        self._name_models(patch)

    @cached_property
    def periods(self) -> list[str]:
        """The periods of all further limits that policies and templates name, ordered."""
        return sorted({name.partition("@")[2] for name in self.policies} - {""})

    def is_requested(self, scope: Scope) -> bool:
        """Whether a task requested something for a scope."""
        return any(requested == scope for requested, _ in self.requests)

    def policy(self, scope: Scope, task: str) -> Policy:
        """The policy that the gate applies to calls of a task on a scope."""
        key = (scope, task if (scope, task) in self.requests else "")
        if key not in self._resolved:
            template, patterns = self.templates[scope]
            stored = self.policies.get(str(scope))
            default = self.defaults[scope.kind]
            if scope.period:
                default = replace(default, limit_tokens=None, limit_nano_usd=None, window=scope.period)
            found = resolve(stored, self.requests.get(key), default, {}, template=template, patterns=patterns)
            self._resolved[key] = found.policy
        return self._resolved[key]

    def named(self, one: Recorded) -> list[Scope]:
        """Path and labels of a call, and the further limits that they may have: `learn` needs to know them all."""
        bases = [*one.path, *one.labels]
        return [*bases, *(further for base in bases for further in self._further(base))]

    def variants(self, one: Recorded) -> list[Recorded]:
        """A call, and the same call with each model that a ladder may choose for it."""
        return [one, *(one.with_model(name) for name in self.models if one.model not in (None, name))]

    def scopes_of(self, one: Recorded) -> list[Scope]:
        """The scopes on which a call draws, as in `ledger_expand`: its path, and those labels and further limits that
        have a policy."""
        optional = self.named(one)[len(one.path) :]
        limited = (scope for scope in optional if str(scope) in self.policies or self.templates[scope][0] is not None)
        return [*one.path, *limited]

    def _further(self, base: Scope) -> list[Scope]:
        if not self.periods or base.period:
            return []
        return [Scope(base.kind, f"{base.id}@{period}") for period in self.periods]

    def _name_models(self, patch: PolicyPatch) -> None:
        self.models |= {name for step in patch.ladder or () for name in step.model}

"""Policies as code: all stored policies and templates of a tenant as one document, and what a new document changes.

The document maps names to fields: `session:s1` is the policy of one scope, `session:*` a template.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from purser.budget.errors import InvalidPolicy, InvalidRequest
from purser.budget.money import parse_dollars
from purser.budget.policies.policy import PolicyPatch
from purser.budget.policies.templates import read_name
from purser.wire.enums import PolicyAction as PolicyAction
from purser.wire.limits import MAX_POLICIES


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """The effect of a document on one policy."""

    name: str
    """A scope or a pattern."""
    action: PolicyAction
    before: PolicyPatch | None
    """`None`: none was stored."""
    after: PolicyPatch | None
    """`None`: none is stored any more."""

    def to_json(self) -> dict[str, Any]:
        """The change in the response of `PUT /v1/policies`."""
        return {
            "name": self.name,
            "action": str(self.action),
            "before": None if self.before is None else self.before.to_json(),
            "after": None if self.after is None else self.after.to_json(),
        }


def read_policies(document: Mapping[str, Any]) -> dict[str, PolicyPatch | None]:
    """Reads the `policies` object of a document; raises `InvalidRequest`, naming the policy and the field.

    `None` in place of the fields removes the policy.
    """
    if len(document) > MAX_POLICIES:
        raise InvalidPolicy(f"the document has {len(document)} policies: at most {MAX_POLICIES} are allowed")
    return {str(read_name(name)): _fields(name, fields) for name, fields in document.items()}


def differences(
    stored: Mapping[str, PolicyPatch], wanted: Mapping[str, PolicyPatch | None], *, prune: bool
) -> Iterator[PolicyChange]:
    """Yields what makes `stored` equal to `wanted`, by name; what only `stored` has is removed only with `prune`."""
    for name in sorted(stored.keys() | wanted.keys()):
        before, after = stored.get(name), wanted.get(name)
        if after is None and before is not None and (prune or name in wanted):
            yield PolicyChange(name, PolicyAction.REMOVE, before, None)
        elif after is not None and before is None:
            yield PolicyChange(name, PolicyAction.CREATE, None, after)
        elif after is not None and before != after:
            yield PolicyChange(name, PolicyAction.CHANGE, before, after)


def _fields(name: str, fields: Any) -> PolicyPatch | None:
    if fields is None:
        return None
    try:
        if not isinstance(fields, Mapping):
            raise InvalidPolicy("give an object of fields, for example {limit_tokens: 1000}")
        patch = PolicyPatch.parse(_in_nano(fields))
        if patch == PolicyPatch():
            raise InvalidPolicy("no field is set: set one, or give null to remove the policy")
    except InvalidRequest as error:
        raise InvalidPolicy(f"policy {name[:140]!r}: {error}") from None
    return patch


def _in_nano(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Replaces `limit_usd`, which people write, by `limit_nano_usd`."""
    if "limit_usd" not in fields:
        return fields
    if "limit_nano_usd" in fields:
        raise InvalidPolicy("limit_usd and limit_nano_usd are the same limit: give one of them")
    others = {name: value for name, value in fields.items() if name != "limit_usd"}
    amount = fields["limit_usd"]
    return others if amount is None else {**others, "limit_nano_usd": parse_dollars(str(amount))}

"""All stored policies and templates of a tenant, read and applied as one document."""

from collections.abc import Mapping, Sequence

from purser.budget.actors import Actor
from purser.budget.policies.policy import POLICY_FIELDS, PolicyPatch
from purser.budget.policies.sets import PolicyChange, differences
from purser.budget.policies.templates import Pattern, is_pattern
from purser.budget.postgres.changes import record
from purser.budget.postgres.connections.pools import Connection, Pool, connected, retrying
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.scopes import Scope

_SQL = load("purser.budget.postgres.ledger", "policies.sql")
_AT_ONCE = 500
"""Policies in one statement: they take about a second, and a connection waits ten for an answer."""


class PolicySets:
    """The policy documents of all tenants."""

    def __init__(self, pool: Pool, policies: Policies) -> None:
        self._pool = pool
        self._policies = policies

    async def stored(self, tenant: str) -> dict[str, PolicyPatch]:
        """Returns every stored policy and template, by name."""
        async with connected(self._pool, None) as own:
            return await _stored(own, tenant)

    async def apply(
        self, tenant: str, wanted: Mapping[str, PolicyPatch | None], *,
        by: Actor, prune: bool = False, dry_run: bool = False,
    ) -> list[PolicyChange]:  # fmt: skip
        """Makes the stored policies equal to `wanted`, in one transaction; effective from the next hold.

        Args:
            tenant: tenant of the policies.
            wanted: policies by name; a field that one leaves out is cleared, `None` removes the policy.
            by: actor, for the change log.
            prune: also removes every policy and template that `wanted` does not name.
            dry_run: changes nothing.

        Returns:
            The changes, by name; none if everything is stored like this already.

        Raises:
            InvalidPolicy: Postgres does not know a time zone.
        """
        if dry_run:
            return list(differences(await self.stored(tenant), wanted, prune=prune))
        found: list[PolicyChange] = []

        async def step() -> None:
            async with connected(self._pool, None) as own, own.transaction():
                await own.execute(_SQL["lock_documents"], tenant)
                found[:] = differences(await _stored(own, tenant), wanted, prune=prune)
                templates = [change for change in found if is_pattern(change.name)]
                policies: list[tuple[Scope, PolicyPatch, Mapping[str, str]]] = [
                    (Scope.stored(change.name), change.after or PolicyPatch(), {})
                    for change in found
                    if not is_pattern(change.name)
                ]
                await self._lock(
                    own, tenant, [str(scope) for scope, _, _ in policies], [change.name for change in templates]
                )
                for change in templates:
                    await self._set_template(own, tenant, change, by)
                for first in range(0, len(policies), _AT_ONCE):
                    some = policies[first : first + _AT_ONCE]
                    await self._policies.set_many(tenant, some, clear=POLICY_FIELDS, by=by, connection=own)

        await retrying(step)
        return found

    async def _lock(self, own: Connection, tenant: str, scopes: Sequence[str], patterns: Sequence[str]) -> None:
        """Locks all that the changes of these scopes and templates lock, in the order in which calls do."""
        # An ask that creates a scope waits for the lock of the templates, so whoever has that creates none.
        await own.execute(_SQL["add_scopes"], tenant, scopes)
        if patterns:
            await own.execute(_SQL["lock_templates"], tenant)
        locked = await own.fetch(_SQL["lock_scopes"], tenant, scopes, patterns)
        await own.execute(_SQL["lock_balances"], tenant, [row["scope_id"] for row in locked])

    async def _set_template(self, own: Connection, tenant: str, change: PolicyChange, by: Actor) -> None:
        await self._policies.set_template(tenant, Pattern(change.name), change.after, by=by, connection=own)
        before, after = (None if patch is None else patch.to_json() for patch in (change.before, change.after))
        await record(own, tenant, "template.set", change.name, by=by, before=before, after=after)


async def _stored(own: Connection, tenant: str) -> dict[str, PolicyPatch]:
    return {row["name"]: PolicyPatch.parse(row["fields"]) for row in await own.fetch(_SQL["every_policy"], tenant)}

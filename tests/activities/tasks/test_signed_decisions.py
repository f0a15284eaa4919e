"""Signatures of decisions sent through Temporal prove the approver; a decision with a wrong signature has no effect."""

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from purser.activities.approvals import ApprovalActivities, CallToApprove
from purser.activities.tasks.signatures import canonical, is_signed_with, sign
from purser.budget.approvals import Identity
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.policies.fields import DECIDING_ROLES, DEPUTY
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.changes import Changes
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Path, Scope
from purser.gateway.access.roles import PERMISSIONS, Permission, Role
from purser.gateway.postgres.keys import Keys, NewKey, digest
from purser.workflows.contract import AgentRef, ApprovalDecision, ApprovalInput, DecisionInput, DecisionResult
from tests.support.actors import TESTER

TENANT = "default"
SESSION = Scope.parse("session:s1")
PATH = Path.parse([str(SESSION), "task:t1", "agent:t1/a1"])
RULES = {"not_submitter": True, "two_people_above_tokens": 1_000}
DECISION = ApprovalDecision("r1", "d1", "approve", "ana", grant_tokens=500)


async def call_of(request: ApprovalInput) -> CallToApprove:
    return CallToApprove(PATH, (), Amount(500), "sam", "sam", False)


class PendingRequest:
    """One pending approval request, and its decisions through Temporal."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.keys = Keys(pool)
        self.approvals = Approvals(pool, LedgerSettings())
        self.activities = ApprovalActivities(self.approvals, call_of, lambda: None, self.keys.signer)
        self.approval_id = ""

    async def key(self, name: str = "ana", role: Role = Role.APPROVER, tenant: str = TENANT, **more: Any) -> NewKey:
        return await self.keys.create(tenant, name, role, by=TESTER, **more)

    def decision(self, **fields: Any) -> ApprovalDecision:
        plain: dict[str, Any] = {"decision_id": "d1", "decision": "approve", "approver": "ana"}
        return ApprovalDecision(self.approval_id, **(plain | fields))

    def signed(self, made: NewKey, **fields: Any) -> ApprovalDecision:
        return sign(self.decision(**fields), made.key.key_id, digest(made.secret))

    async def decide(self, decision: ApprovalDecision, tenant: str = TENANT) -> DecisionResult:
        return await self.activities.record_decision(DecisionInput(tenant, decision))


@pytest.fixture
async def pending(pool: Pool) -> PendingRequest:
    policies = Policies(pool, LedgerSettings())
    asks = PolicyPatch.parse({"limit_tokens": 100, "mode": "approval", "approval": RULES})
    await policies.set(TENANT, SESSION, asks, by=TESTER)
    await Ledger(pool, LedgerSettings()).hold(TENANT, HoldRequest("k1", PATH, Amount(500)))
    pending = PendingRequest(pool)
    asking = ApprovalInput(AgentRef(TENANT, "t1", "a1"), "k1", str(SESSION), "w")
    pending.approval_id = (await pending.activities.request_approval(asking)).approval_id
    return pending


# --- what is signed --------------------------------------------------------------------------------------------------


def test_the_signature_is_an_hmac_of_the_other_fields_as_sorted_compact_json() -> None:
    decision = replace(DECISION, approver="Aña", until="2100-01-01T00:00:00Z", key_id="key-1")
    text = (
        '{"approval_id":"r1","approver":"Aña","decision":"approve","decision_id":"d1",'
        '"grant_tokens":500,"until":"2100-01-01T00:00:00Z"}'
    )
    assert canonical(decision) == text.encode()
    expected = hmac.new(hashlib.sha256(b"purser_secret").digest(), text.encode(), "sha256").hexdigest()
    assert sign(decision, "key-1", digest("purser_secret")).signature == expected


@pytest.mark.parametrize(
    "change",
    [
        {"approval_id": "r2"},
        {"decision_id": "d2"},
        {"decision": "deny"},
        {"approver": "eve"},
        {"grant_tokens": 501},
        {"grant_tokens": None},
        {"grant_nano_usd": 1},
        {"until": "2100-01-01T00:00:00Z"},
        {"note_ref": "n"},
        {"ticket_url": "https://tickets.example.com/4711"},
        {"signature": None},
        {"signature": ""},
        {"signature": "é"},
        {"signature": "0" * 64},
    ],
    ids=str,
)
def test_a_signature_fits_no_other_decision(change: dict[str, Any]) -> None:
    signed = sign(DECISION, "key-1", digest("secret"))
    assert is_signed_with(signed, digest("secret"))
    assert not is_signed_with(signed, digest("another"))
    assert not is_signed_with(replace(signed, **change), digest("secret"))


def test_the_roles_of_policies_are_those_of_keys_that_decide() -> None:
    assert {*DECIDING_ROLES, DEPUTY} == {role for role in Role if Permission.DECIDE in PERMISSIONS[role]}


# --- who decides -----------------------------------------------------------------------------------------------------


async def test_a_signed_decision_is_made_by_the_name_of_the_key_whatever_the_sender_wrote(
    pending: PendingRequest,
) -> None:
    ana = await pending.key("ana")
    assert (await pending.decide(pending.signed(ana, approver="someone"))).state == "approved"
    (recorded,) = (await pending.approvals.get(TENANT, pending.approval_id)).decisions
    assert (recorded.approver, recorded.identity) == ("ana", Identity.KEY)
    [decided], _ = await Changes(pending.pool).list(TENANT, action="approval.approve")
    assert (decided.by, decided.key_id) == ("ana", ana.key.key_id)


async def test_rules_about_people_apply_as_over_http(pending: PendingRequest) -> None:
    sam, ana, ben = [await pending.key(name) for name in ("sam", "ana", "ben")]
    own = await pending.decide(pending.signed(sam))
    assert (own.state, own.error) == ("pending", "submitter")
    first = await pending.decide(pending.signed(ana, decision_id="d1", grant_tokens=5_000))
    assert (first.state, first.decisions_needed) == ("pending", 1)
    again = await pending.decide(pending.signed(ana, decision_id="d2", grant_tokens=5_000))
    assert (again.state, again.error) == ("pending", "same_person")
    assert (await pending.decide(pending.signed(ben, decision_id="d3", grant_tokens=5_000))).state == "approved"


@pytest.mark.parametrize("role", [Role.AGENT, Role.VIEWER])
async def test_a_key_that_decides_nothing_over_http_decides_nothing_here(pending: PendingRequest, role: Role) -> None:
    done = await pending.decide(pending.signed(await pending.key(role=role)))
    assert (done.state, done.error) == ("pending", "role")


async def test_the_same_signed_decision_sent_again_changes_nothing(pending: PendingRequest) -> None:
    signed = pending.signed(await pending.key())
    assert await pending.decide(signed) == await pending.decide(signed)
    assert len((await pending.approvals.get(TENANT, pending.approval_id)).decisions) == 1


# --- signatures that prove nothing -----------------------------------------------------------------------------------

Forgery = Callable[[PendingRequest, NewKey], ApprovalDecision]
FORGERIES: dict[str, Forgery] = {
    "under another decision id": lambda pending, key: replace(pending.signed(key), decision_id="d2"),
    "for another amount": lambda pending, key: replace(pending.signed(key, grant_tokens=1), grant_tokens=900_000),
    "of another request": lambda pending, key: replace(
        sign(replace(pending.decision(), approval_id="r0"), key.key.key_id, digest(key.secret)),
        approval_id=pending.approval_id,
    ),
    "without its signature": lambda pending, key: replace(pending.signed(key), signature=None),
    "without its key": lambda pending, key: replace(pending.signed(key), key_id=None),
    "of an unknown key": lambda pending, key: replace(pending.signed(key), key_id="key-nobody"),
    "of a key that cannot be stored": lambda pending, key: replace(pending.signed(key), key_id="key\0\ud800"),
    "with the digest in its place": lambda pending, key: replace(
        pending.signed(key), signature=digest(key.secret).hex()
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES.keys())
async def test_a_signature_that_does_not_fit_decides_nothing(pending: PendingRequest, forgery: Forgery) -> None:
    done = await pending.decide(forgery(pending, await pending.key()))
    assert (done.state, done.error) == ("pending", "signature")
    assert (await pending.approvals.get(TENANT, pending.approval_id)).decisions == ()


async def test_a_revoked_or_expired_key_signs_no_more(pending: PendingRequest, pool: Pool) -> None:
    revoked = await pending.key("ana")
    await pending.keys.revoke(TENANT, revoked.key.key_id, by=TESTER)
    expired = await pending.key("ben", expires_at=datetime.now(UTC) + timedelta(hours=1))
    await pool.execute("update keys set expires_at = now() where key_id = $1", expired.key.key_id)
    for made in (revoked, expired):
        assert (await pending.decide(pending.signed(made))).error == "signature"


async def test_a_key_of_another_tenant_decides_nothing_here(pending: PendingRequest) -> None:
    theirs = await pending.key(tenant="other", role=Role.ADMIN)
    assert (await pending.decide(pending.signed(theirs))).error == "signature"
    assert (await pending.decide(pending.signed(theirs), tenant="other")).error == "not_found"


async def test_a_worker_that_knows_no_keys_accepts_no_signature(pending: PendingRequest) -> None:
    signed = pending.signed(await pending.key())
    blind = ApprovalActivities(pending.approvals, call_of, lambda: None)
    assert (await blind.record_decision(DecisionInput(TENANT, signed))).error == "signature"


async def test_an_unsigned_decision_does_not_count_and_says_what_to_do(pending: PendingRequest) -> None:
    done = await pending.decide(pending.decision(approver="the-ceo"))
    assert (done.state, done.error) == ("pending", "unsigned")
    assert "sign the decision with the approver's key" in done.message


def test_canonical_json_escapes_as_json_does() -> None:
    odd = replace(DECISION, approver='a"b\\c\n')
    assert json.loads(canonical(odd))["approver"] == odd.approver

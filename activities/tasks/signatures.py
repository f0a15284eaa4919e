"""Signatures of decisions that come through Temporal: they prove whose key decides, and no secret enters a history.

A signature is HMAC-SHA256, written as 64 lowercase hexadecimal digits. Its key is the SHA-256 digest (32 bytes) of the
approver's bearer key, which is what the database keeps of that key. What is signed is the decision as a JSON object
without `key_id`, `signature` and the fields that are null or missing: keys sorted, no white space, characters beyond
ASCII as they are, encoded as UTF-8. Values are signed exactly as they are sent, `until` as the text that it is.
"""

import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace

from purser.workflows.contract import ApprovalDecision


@dataclass(frozen=True, slots=True)
class Signer:
    """The person behind a key that is neither revoked nor expired."""

    name: str
    """Name of the key: the approver."""
    roles: tuple[str, ...]
    """Roles that decide; empty if keys of its role decide nothing."""
    digest: bytes
    """SHA-256 of the key."""


SignerOf = Callable[[str, str], Awaitable[Signer | None]]
"""Finds a live key by tenant and id; `None` if the tenant has none of this id."""


async def no_signer(tenant: str, key_id: str) -> Signer | None:
    """Knows no keys, so that no signature is accepted."""
    return None


def canonical(decision: ApprovalDecision) -> bytes:
    """What is signed of a decision."""
    fields = {name: value for name, value in asdict(decision).items() if value is not None}
    signed = {name: value for name, value in fields.items() if name not in ("key_id", "signature")}
    text = json.dumps(signed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def sign(decision: ApprovalDecision, key_id: str, digest: bytes) -> ApprovalDecision:
    """The decision, signed with the SHA-256 digest of the key `key_id`."""
    return replace(decision, key_id=key_id, signature=_signature(decision, digest))


def is_signed_with(decision: ApprovalDecision, digest: bytes) -> bool:
    """Whether the signature was made with this digest of a key. Takes the same time wherever they differ."""
    given = (decision.signature or "").encode("utf-8", "surrogatepass")
    return hmac.compare_digest(given, _signature(decision, digest).encode())


def _signature(decision: ApprovalDecision, digest: bytes) -> str:
    return hmac.new(digest, canonical(decision), hashlib.sha256).hexdigest()

"""Signatures of decisions sent through Temporal: they prove the approver's key without a secret in the history.

A signature is an HMAC-SHA256, written as 64 lowercase hexadecimal digits. Its key is the SHA-256 digest (32 bytes) of
the approver's bearer key, which is all that the database stores of that key. The signed text is the decision as a JSON
object without `key_id`, `signature` and null or missing fields: keys sorted, no white space, non-ASCII characters
unescaped, encoded as UTF-8. Values are signed exactly as sent, `until` as text.
"""

import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace

from purser.workflows.contract import ApprovalDecision


@dataclass(frozen=True, slots=True)
class Signer:
    """The owner of a key that is neither revoked nor expired."""

    name: str
    """Name of the key: the approver."""
    roles: tuple[str, ...]
    """Roles under which the key may decide; empty if keys of its role may not decide."""
    digest: bytes
    """SHA-256 of the key."""


SignerOf = Callable[[str, str], Awaitable[Signer | None]]
"""Finds a live key by tenant and id; `None` if the tenant has none of this id."""


async def no_signer(tenant: str, key_id: str) -> Signer | None:
    """Finds no key, so that no signature is accepted."""
    return None


def canonical(decision: ApprovalDecision) -> bytes:
    """Returns the signed text of a decision, encoded as UTF-8."""
    fields = {name: value for name, value in asdict(decision).items() if value is not None}
    signed = {name: value for name, value in fields.items() if name not in ("key_id", "signature")}
    text = json.dumps(signed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def sign(decision: ApprovalDecision, key_id: str, digest: bytes) -> ApprovalDecision:
    """Returns the decision, signed with the SHA-256 digest of the key `key_id`."""
    return replace(decision, key_id=key_id, signature=_signature(decision, digest))


def is_signed_with(decision: ApprovalDecision, digest: bytes) -> bool:
    """Whether the signature was made with this digest of a key. The comparison takes constant time."""
    given = (decision.signature or "").encode("utf-8", "surrogatepass")
    return hmac.compare_digest(given, _signature(decision, digest).encode())


def _signature(decision: ApprovalDecision, digest: bytes) -> str:
    return hmac.new(digest, canonical(decision), hashlib.sha256).hexdigest()

"""Signatures of webhook deliveries, as Standard Webhooks defines them."""

import base64
import hashlib
import hmac
from contextlib import suppress

from purser.gateway.access.sealing import Seal
from purser.gateway.errors import SecretUnreadable
from purser.gateway.postgres.deliveries import ClaimedDelivery


def sign(delivery: ClaimedDelivery, seal: Seal, body: bytes, at: int) -> dict[str, str]:
    """The headers of a Standard Webhooks message; while a secret is being replaced, all of them sign.

    A previous secret that cannot be read does not sign: it may be replaced because its key was lost.

    Raises:
        SecretUnreadable: the current secret was encrypted with a key that is not configured.
    """
    signed = f"{delivery.message_id}.{at}.".encode() + body
    secrets = [seal.decrypt(delivery.secret)]
    for previous in (delivery.previous_secret or "").split():
        with suppress(SecretUnreadable):
            secrets.append(seal.decrypt(previous))
    return {
        "webhook-id": delivery.message_id,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(f"v1,{_mac(secret, signed)}" for secret in secrets),
    }


def _mac(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()

"""Signed links from a chat to the page of one approval request.

A link identifies the request and nothing else: whoever opens it signs in and decides under their own key.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from purser.gateway.access.sealing import Seal
from purser.gateway.errors import LinkExpired, LinkInvalid, SecretsKeyMissing, SecretUnreadable

VALID_AFTER_DEADLINE = timedelta(days=1)
"""For this long after the deadline of its request a link shows the outcome."""
_PURPOSE = "approval-link"
"""Distinguishes a link from other secrets that are encrypted with the same keys."""


@dataclass(frozen=True, slots=True)
class ApprovalLink:
    """What a link says."""

    tenant: str
    approval_id: str
    expires_at: datetime


class ApprovalLinks:
    """Makes and reads links, with the keys that encrypt secrets."""

    def __init__(self, seal: Seal, public_url: str) -> None:
        self._seal = seal
        self._page = f"{public_url.rstrip('/')}/approvals"

    def url(self, tenant: str, approval_id: str, deadline: datetime, now: datetime) -> str | None:
        """The link to a request, valid for a day after its deadline, or from now on if that is later.

        `None` without a key for encrypting secrets.
        """
        expires_at = max(deadline, now) + VALID_AFTER_DEADLINE
        said = [_PURPOSE, tenant, approval_id, int(expires_at.timestamp())]
        try:
            return f"{self._page}?link={self._seal.encrypt(json.dumps(said))}"
        except SecretsKeyMissing:
            return None

    def read(self, token: str, now: datetime) -> ApprovalLink:
        """Reads the token of a link; raises `LinkInvalid` or `LinkExpired`."""
        try:
            purpose, tenant, approval_id, expires = json.loads(self._seal.decrypt(token))
        except (SecretUnreadable, ValueError, TypeError):
            raise _invalid() from None
        if purpose != _PURPOSE:
            raise _invalid()
        link = ApprovalLink(tenant, approval_id, datetime.fromtimestamp(expires, UTC))
        if link.expires_at <= now:
            raise LinkExpired(
                f"the link expired at {link.expires_at:%Y-%m-%d %H:%M} UTC: look for the request in the list"
            )
        return link


def _invalid() -> LinkInvalid:
    return LinkInvalid(
        "the link is cut off or was changed: open the message again, or look for the request in the list"
    )

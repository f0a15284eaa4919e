"""Delivery of webhook messages. Any number of processes may run it: each claims messages that no other has claimed."""

import asyncio
import json
import time
from collections.abc import Callable
from datetime import timedelta

import httpx
import structlog

from purser.activities.runtime.authorities import trusted
from purser.activities.runtime.background import repeat
from purser.gateway.access.sealing import Seal
from purser.gateway.errors import SecretUnreadable, TargetRefused
from purser.gateway.postgres.deliveries import ClaimedDelivery, Deliveries
from purser.gateway.webhooks.signing import sign
from purser.gateway.webhooks.targets import Targets

EVERY_S = 1.0
TIMEOUT_S = 10.0
MAX_CONCURRENT = 32
"""Webhooks that are sent to concurrently, one message each, so that a slow receiver delays no other."""
MAX_PER_TENANT = 8
"""Of these, most webhooks of one tenant, so that slow receivers of one tenant delay no other."""
BACKOFF = tuple(timedelta(seconds=s) for s in (5, 30, 120, 600, 1_800, 3_600, 10_800))
"""Pauses between attempts: if the last one fails, about five hours after the first, the delivery is given up."""
STOP_GRACE_S = 3.0
"""Seconds for deliveries in progress when the process stops; after the lease, another process sends the rest."""

log = structlog.get_logger(__name__)


class Deliverer:
    """Creates deliveries from events, and sends them."""

    def __init__(
        self, deliveries: Deliveries, targets: Targets, seal: Seal, count_failure: Callable[[str], None]
    ) -> None:
        """Args:
        deliveries: the deliveries of all tenants.
        targets: allowed addresses.
        seal: decrypts the secrets that sign.
        count_failure: called for each message that is not delivered, with the reason: `not_created` or `given_up`.
        """
        self._deliveries = deliveries
        self._seal = seal
        self._targets = targets
        self._count_failure = count_failure
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._poked = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Create and send deliveries until `stop` is set."""
        # Redirects are not followed: they may lead to addresses that are not allowed.
        async with httpx.AsyncClient(verify=trusted(), follow_redirects=False, timeout=TIMEOUT_S) as client:

            async def step() -> None:
                while await self._deliveries.make(lambda: self._count_failure("not_created")):
                    pass
                await self._deliveries.end_disabled()
                free = MAX_CONCURRENT - len(self._sending)
                for delivery in await self._deliveries.claim(free, self._sending, MAX_PER_TENANT):
                    self._sending[delivery.webhook_id] = asyncio.create_task(self._handle(client, delivery))

            await repeat("webhooks", step, stop, EVERY_S, self._poked)
            if self._sending:
                _, late = await asyncio.wait(self._sending.values(), timeout=STOP_GRACE_S)
                for task in late:
                    task.cancel()
                await asyncio.gather(*late, return_exceptions=True)

    async def _handle(self, client: httpx.AsyncClient, delivery: ClaimedDelivery) -> None:
        try:
            await self._deliver(client, delivery)
        except Exception as error:
            # The outcome is unknown: it is sent again, and receivers recognize it by its id.
            log.warning(
                "a webhook delivery has an unknown outcome", webhook=delivery.webhook_id, error=type(error).__name__
            )
        finally:
            del self._sending[delivery.webhook_id]
            self._poked.set()

    async def _deliver(self, client: httpx.AsyncClient, delivery: ClaimedDelivery) -> None:
        began, status = time.monotonic(), None
        try:
            status = await self._post(client, self._targets.check(delivery.url), delivery)
            error = None if 200 <= status < 300 else "redirect" if 300 <= status < 400 else "status"
        except TargetRefused:
            error = "target_not_allowed"
        except SecretUnreadable:
            error = "secret_unreadable"
        except (TimeoutError, httpx.TimeoutException):
            error = "timeout"
        except httpx.ConnectError:
            error = "connection"
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError):
            error = "protocol"
        took = round((time.monotonic() - began) * 1_000)
        if error is None and status is not None:
            await self._deliveries.delivered(delivery, status, took)
            return
        gone = status == httpx.codes.GONE
        given_up = gone or delivery.tries > len(BACKOFF)
        log.info(
            "a webhook delivery failed", webhook=delivery.webhook_id, error=error, status=status, tries=delivery.tries
        )
        await self._deliveries.failed(
            delivery, error or "status", status, took, None if given_up else BACKOFF[delivery.tries - 1]
        )
        if given_up:
            self._count_failure("given_up")
        if gone:
            await self._deliveries.disable(delivery.webhook_id, "its receiver answered 410 Gone")

    async def _post(self, client: httpx.AsyncClient, url: httpx.URL, delivery: ClaimedDelivery) -> int:
        body = json.dumps(dict(delivery.payload), separators=(",", ":"), ensure_ascii=False).encode()
        plain = {"content-type": "application/json", "user-agent": "Purser"}
        headers = plain | sign(delivery, self._seal, body, int(time.time()))
        async with asyncio.timeout(TIMEOUT_S), client.stream("POST", url, content=body, headers=headers) as response:
            return response.status_code  # the body is not read, however long it is

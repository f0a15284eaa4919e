"""Background work on approval requests of all tenants: each request is a transaction of its own."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from purser.budget.postgres.connections.pools import retrying

_log = logging.getLogger(__name__)


async def each(step: Callable[[str, str], Awaitable[int]], requests: Iterable[tuple[str, str]]) -> int:
    """Takes a step for each request, given as tenant and id, and returns the total; one that fails stops no other."""
    total = 0
    for tenant, approval_id in requests:
        try:
            total += await retrying(partial(step, tenant, approval_id))
        except Exception as error:
            _log.warning("approval request %s was left for the next sweep: %s", approval_id, type(error).__name__)
    return total

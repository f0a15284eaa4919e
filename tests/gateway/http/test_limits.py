"""The counters of the rate limits, one for each key and address."""

import pytest

from purser.gateway.errors import TooManyRequests
from purser.gateway.http.limits import Limits
from purser.gateway.metrics.requests import Metrics


async def test_failures_are_counted_for_each_address_alone() -> None:
    limits = Limits(per_s=0, failures_per_min=2)
    for _ in range(2):
        await limits.failure("192.0.2.1")
    with pytest.raises(TooManyRequests):
        await limits.failure("192.0.2.1")
    await limits.failure("192.0.2.2")


def test_unknown_methods_share_one_label() -> None:
    metrics = Metrics()
    for method in ("GET", "BREW", "WHEN"):
        metrics.answered(method, "/v1/holds", 405)
    counted = {
        sample.labels["method"]: sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "purser_http_requests_total"
    }
    assert counted == {"GET": 1, "other": 2}

"""Metrics of verdicts and of requests to providers."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from purser.activities.errors import ProviderError
from purser.activities.holds.hold import Hold
from purser.activities.models.embedder import EmbeddingModel, LiteLLMEmbedder
from purser.activities.models.labels import MOST_VALUES
from purser.activities.models.metrics import CallMetrics, Requested
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest, Timeouts
from purser.budget.gate import Amount, ScopeView, gate_answer
from purser.budget.policies.fields import DEFAULT_BACKPRESSURE, BackpressureStep, Mode
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.holds import Holds
from purser.budget.postgres.ledger.pricing import Pricing
from purser.budget.pricing.call_prices import Unpriced
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path, Scope
from purser.compose.demo.provider import Fault, FaultKind, Provider, Rule, serve_provider
from purser.compose.demo.provider import Usage as ReportedUsage
from purser.compose.stack.ports import free_port
from purser.context.postgres.sessions.payers import Payers
from purser.context.retrieval import Outcome
from purser.workflows.contract import HoldInput
from tests.support.budgets.prices import per_million
from tests.support.ledger import Books

pytestmark = pytest.mark.filterwarnings("ignore")

CHEAP = PriceBook({}, {}, per_million("1", "0"))


class Counted:
    """Metrics and their exposition."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics = CallMetrics(self.registry)

    def lines(self, *names: str) -> list[str]:
        """Samples whose name begins with one of these, buckets left out."""
        lines = generate_latest(self.registry).decode().splitlines()
        return [line for line in lines if line.startswith(names) and "_bucket" not in line and "_created" not in line]


@pytest.fixture
def counted() -> Counted:
    return Counted()


def test_searches_of_memory_are_counted_by_how_they_went(counted: Counted) -> None:
    counted.metrics.searched(Outcome.NO_VECTORS)
    assert counted.lines("purser_memory_searches_total") == [
        'purser_memory_searches_total{outcome="words"} 0.0',
        'purser_memory_searches_total{outcome="fused"} 0.0',
        'purser_memory_searches_total{outcome="no_vectors"} 1.0',
        'purser_memory_searches_total{outcome="no_extension"} 0.0',
    ]


def view(spent: int, mode: Mode, *, steps: Sequence[BackpressureStep] = DEFAULT_BACKPRESSURE) -> ScopeView:
    session = Scope.parse("session:s1")
    return ScopeView(session, mode, 100, None, Amount(spent), Amount(), Amount(), backpressure=steps)


def test_a_verdict_is_counted_with_mode_and_reason_of_the_scope_that_decided(counted: Counted) -> None:
    for spent, mode in ((0, Mode.HARD), (100, Mode.HARD), (100, Mode.SOFT), (100, Mode.APPROVAL)):
        counted.metrics.count_verdict(gate_answer([view(spent, mode)], Amount(10)))
    assert counted.lines("purser_decisions_total") == [
        'purser_decisions_total{kind="session",mode="hard",reason="fits",verdict="allow"} 1.0',
        'purser_decisions_total{kind="session",mode="hard",reason="limit",verdict="refuse"} 1.0',
        'purser_decisions_total{kind="session",mode="soft",reason="over_limit",verdict="warn"} 1.0',
        'purser_decisions_total{kind="session",mode="approval",reason="approval",verdict="ask"} 1.0',
    ]


def test_backpressure_is_what_admitted_calls_have_to_take(counted: Counted) -> None:
    counted.metrics.count_verdict(gate_answer([view(0, Mode.HARD)], Amount(10)))
    counted.metrics.count_verdict(gate_answer([view(80, Mode.HARD)], Amount(10)))
    counted.metrics.count_verdict(gate_answer([view(100, Mode.HARD)], Amount(10)))
    assert counted.lines("purser_backpressure") == [
        "purser_backpressure_seconds_count 1.0",
        "purser_backpressure_seconds_sum 0.75",
    ]


def test_an_estimate_is_compared_with_what_was_reported(counted: Counted) -> None:
    counted.metrics.estimated("gpt-4o", "prompt", 150, 200)
    counted.metrics.estimated("gpt-4o", "output", 300, 100)
    counted.metrics.estimated("gpt-4o", "output", 300, 0)
    assert counted.lines("purser_estimate") == [
        'purser_estimate_ratio_count{model="gpt-4o",part="prompt"} 1.0',
        'purser_estimate_ratio_sum{model="gpt-4o",part="prompt"} 0.75',
        'purser_estimate_ratio_count{model="gpt-4o",part="output"} 1.0',
        'purser_estimate_ratio_sum{model="gpt-4o",part="output"} 3.0',
    ]


def test_the_use_of_a_hold_is_what_was_charged(counted: Counted) -> None:
    counted.metrics.hold_used("gpt-4o", 200, 50)
    counted.metrics.hold_used("gpt-4o", 0, 50)
    assert counted.lines("purser_hold_use") == [
        'purser_hold_use_ratio_count{model="gpt-4o"} 1.0',
        'purser_hold_use_ratio_sum{model="gpt-4o"} 0.25',
    ]


def test_models_beyond_the_first_share_a_label(counted: Counted) -> None:
    for number in range(2 * MOST_VALUES):
        counted.metrics.answered(Requested("chat", f"provider-{number}", f"model-{number}"), 1.0)
    lines = counted.lines("purser_provider_requests_total")
    assert len(lines) == MOST_VALUES + 1
    assert lines[-1] == (
        f'purser_provider_requests_total{{kind="chat",model="other",provider="other"}} {MOST_VALUES}.0'
    )


# --- providers -------------------------------------------------------------------------------------------------------


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serve_provider() as provider:
        yield provider


async def complete(counted: Counted, api_base: str | None, model: str = "openai/own-model") -> None:
    request = ModelRequest(model, [{"role": "user", "content": "Hello"}], (), 50, "7-1", api_base)
    maker = ModelProvider({}, Timeouts(silence_s=5), counted.metrics)
    with suppress(ProviderError):
        await maker.complete(request, PartialReply())


async def test_answers_are_counted_with_their_time_and_tokens_by_class(counted: Counted, provider: Provider) -> None:
    provider.control.add_rule(Rule(usage=ReportedUsage(prompt_tokens=100, completion_tokens=5, cached_tokens=90)))
    await complete(counted, provider.api_base)
    labels = f'kind="chat",model="openai/own-model",provider="{urlsplit(provider.api_base).netloc}"'
    assert counted.lines("purser_provider_requests_total") == [f"purser_provider_requests_total{{{labels}}} 1.0"]
    assert f"purser_provider_seconds_count{{{labels}}} 1.0" in counted.lines("purser_provider_seconds")
    assert counted.lines("purser_provider_tokens_total") == [
        f'purser_provider_tokens_total{{class="input",{labels}}} 10.0',
        f'purser_provider_tokens_total{{class="cache_read",{labels}}} 90.0',
        f'purser_provider_tokens_total{{class="output",{labels}}} 5.0',
    ]


@pytest.mark.parametrize(
    ("fault", "code", "status_class"),
    [(FaultKind.RATE_LIMITED, "rate_limited", "4xx"), (FaultKind.UNAVAILABLE, "server_error", "5xx")],
)
async def test_failures_are_counted_by_our_code_and_the_class_of_the_status(
    counted: Counted, provider: Provider, fault: FaultKind, code: str, status_class: str
) -> None:
    provider.control.add_fault(Fault(kind=fault))
    await complete(counted, provider.api_base)
    labels = f'kind="chat",model="openai/own-model",provider="{urlsplit(provider.api_base).netloc}"'
    assert counted.lines("purser_provider_errors_total") == [
        f'purser_provider_errors_total{{code="{code}",{labels},status_class="{status_class}"}} 1.0'
    ]
    assert f"purser_provider_requests_total{{{labels}}} 1.0" in counted.lines("purser_provider_requests_total")
    assert counted.lines("purser_provider_seconds_") == []


async def test_without_an_answer_there_is_no_status(counted: Counted) -> None:
    port = free_port()
    await complete(counted, f"http://user:s3cr3t@127.0.0.1:{port}/v1")
    labels = f'kind="chat",model="openai/own-model",provider="127.0.0.1:{port}"'
    assert counted.lines("purser_provider_errors_total") == [
        f'purser_provider_errors_total{{code="unreachable",{labels},status_class="none"}} 1.0'
    ]


async def test_names_without_a_provider_take_no_place_among_the_models(counted: Counted) -> None:
    await complete(counted, None, "no-such-model")
    [line] = counted.lines("purser_provider_errors_total")
    assert 'model="none",provider="none"' in line


# --- who counts ------------------------------------------------------------------------------------------------------


async def test_holds_of_workflows_are_verdicts_too(counted: Counted, pool: Pool) -> None:
    books = Books.on(pool)
    await books.budget("session:s1", mode="hard", limit_tokens=100)
    pricing = Pricing(CHEAP, books.ledger, Holds(pool))
    hold = Hold(books.ledger, Payers(pool), pricing, counted.metrics.count_verdict)
    await hold.hold(HoldInput("acme", "k1", ("session:s1",), 101))
    assert counted.lines("purser_decisions_total") == [
        'purser_decisions_total{kind="session",mode="hard",reason="limit",verdict="refuse"} 1.0'
    ]


def test_an_ask_that_needs_a_price_is_counted_as_a_verdict_and_as_a_call_without_one(counted: Counted) -> None:
    session = ScopeView(Scope.parse("session:s1"), Mode.SOFT, None, 100, Amount(), Amount(), Amount())
    counted.metrics.count_verdict(gate_answer([session], Amount(10), priced=False))
    assert counted.lines("purser_decisions_total", 'purser_unpriced_calls_total{outcome="refused"') == [
        'purser_decisions_total{kind="session",mode="soft",reason="unknown_price",verdict="refuse"} 1.0',
        'purser_unpriced_calls_total{outcome="refused"} 1.0',
    ]


def test_calls_without_a_price_are_counted_by_what_becomes_of_them(counted: Counted) -> None:
    counted.metrics.unpriced(Unpriced.FREE)
    assert counted.lines("purser_unpriced_calls_total") == [
        'purser_unpriced_calls_total{outcome="refused"} 0.0',
        'purser_unpriced_calls_total{outcome="free"} 1.0',
        'purser_unpriced_calls_total{outcome="estimated"} 0.0',
    ]


async def test_verdicts_on_side_calls_are_counted_too(counted: Counted, pool: Pool, provider: Provider) -> None:
    books = Books.on(pool)
    maker = LiteLLMEmbedder(
        EmbeddingModel("openai/hashing", provider.api_base, timeout_s=20),
        ModelProvider({}, metrics=counted.metrics),
        books.ledger,
        CHEAP,
        str,
        counted.metrics.count_verdict,
    )
    assert await maker.embed("acme", Path.parse(["session:s1"]), ["red bicycle"])
    assert counted.lines("purser_decisions_total") == [
        'purser_decisions_total{kind="session",mode="soft",reason="unlimited",verdict="allow"} 1.0'
    ]
    [line] = counted.lines("purser_provider_requests_total")
    assert 'kind="embedding",model="openai/hashing"' in line

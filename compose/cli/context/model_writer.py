"""Summaries that a model writes for commands, under a hold of a running gateway."""

import asyncio
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from purser.activities.errors import Cost, ProviderError
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelRequest
from purser.budget.usage import Usage
from purser.compose.cli.api.client import Gateway
from purser.compose.errors import ComposeError, RequestFailed
from purser.compose.models import model_provider
from purser.compose.settings import Settings
from purser.context.compression.acceptance import fault
from purser.context.compression.extracts.extraction import extract
from purser.context.compression.requests import CountText, Redact, SummarySource, summary_request
from purser.context.conversation.languages import conversation_language
from purser.context.tokens import count_request

SESSION = "session:cli"
"""Scope whose budget is charged."""


class ModelWriter:
    """A model as `builder.Summarize`: called once, under a hold; its answer is redacted and checked."""

    def __init__(self, model: str, client: Gateway, settings: Settings, redact: Redact) -> None:
        """Args:
        model: name of the model, as LiteLLM spells it.
        client: gateway that holds and settles the budget.
        settings: they hold the keys and the address of the model.
        redact: applied to its answer.
        """
        self._model = model
        self._gateway = client
        self._provider = model_provider(settings)
        self._redact = redact
        self._api_base = settings.summarizer_api_base
        self.problem: ComposeError | None = None
        """Why the model was not called."""
        self.fault = ""
        """Why its answer was rejected, as a code."""
        self.wrote: str | None = None
        """Its answer, if it was accepted as a summary."""

    def __call__(self, source: SummarySource, most_tokens: int, count: CountText) -> str:
        """The model's summary of a redacted source, or an extract of it if its answer is rejected."""
        if self.problem is None and not self.fault:
            try:
                partial = self._ask(summary_request(source, most_tokens), most_tokens)
            except ComposeError as problem:
                self.problem = problem
            except ProviderError as failure:
                self.fault = failure.reason
            else:
                text = self._redact(partial.message().text).strip()
                cut = partial.finish_reason == "length"
                self.fault = "over_target" if cut else _fault(source, text, most_tokens, count) or ""
                if not self.fault:
                    self.wrote = text
                    return text
        return extract(source, most_tokens, count)

    def _ask(self, messages: list[dict[str, Any]], most_tokens: int) -> PartialReply:
        """Call the model; what the call cost is settled even if its answer is rejected."""
        prompt = count_request(messages, (), self._model).tokens
        asked = {"key": f"cli-{uuid.uuid4()}", "path": [SESSION], "model": self._model}
        held = self._gateway.post("/v1/holds", asked | {"tokens": prompt + most_tokens})
        if held["hold_id"] is None or held["state"] != "held":
            raise RequestFailed(_refusal(held))
        request = ModelRequest(self._model, messages, (), most_tokens, f"{held['hold_id']}-1", self._api_base)
        hold, partial, cost = f"/v1/holds/{held['hold_id']}", PartialReply(), Cost.UNKNOWN
        try:
            time.sleep(held["delay_ms"] / 1_000)
            started = self._gateway.post(f"{hold}/attempts", {"attempt": 1})
            if started["verdict"] not in ("allow", "warn"):
                raise RequestFailed(_refusal(started))
            asyncio.run(self._provider.complete(request, partial))
        except ProviderError as failure:
            cost = failure.cost
            raise
        finally:
            self._end(hold, partial, prompt, cost)
        return partial

    def _end(self, hold: str, partial: PartialReply, prompt: int, cost: Cost) -> None:
        """Settle the reported usage of a request; without one, release the hold, which presumes a charge."""
        if partial.usage is not None or partial.finish_reason is not None:
            usage = partial.charge(prompt, self._model)
        elif cost is Cost.NOTHING or not partial.sent:
            usage = Usage()
        else:
            self._gateway.post(f"{hold}/release")
            return
        self._gateway.post(f"{hold}/settle", {"attempt": 1, "usage": asdict(usage)})


def _fault(source: SummarySource, text: str, most_tokens: int, count: CountText) -> str | None:
    before = sum(count(part) for part in (source.summary, *(passage.text for passage in source.passages)))
    language = conversation_language([passage.text for passage in source.passages])
    return fault(text, count(text), most_tokens=most_tokens, tokens_before=before, language=language)


def _refusal(held: Mapping[str, Any]) -> dict[str, Any]:
    """The problem document of a verdict that does not admit the call."""
    remedy = held.get("remedy") or f"Raise it with `purser budget set {SESSION}`, or use --summarizer extractive."
    return {
        "type": "about:blank",
        "title": "BudgetRefused",
        "detail": f"the budget of {SESSION} does not admit the call of the summarizer: {held['verdict']}",
        "verdict": held["verdict"],
        "scopes": held["scopes"],
        "remedy": remedy,
    }

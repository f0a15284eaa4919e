"""The activity `estimate_tokens`: counts the tokens of stored messages for a model."""

from dataclasses import dataclass

from temporalio import activity

from purser.context.postgres.conversation.conversations import Conversations
from purser.context.tokens import count_async
from purser.workflows.contract import ActivityName, EstimateInput, EstimateResult


@dataclass(frozen=True)
class EstimateTokens:
    """The activity `estimate_tokens`."""

    conversations: Conversations

    @activity.defn(name=ActivityName.ESTIMATE_TOKENS)
    async def estimate_tokens(self, request: EstimateInput) -> EstimateResult:
        """Counts the input tokens of a request with these messages alone, without tools."""
        stored = await self.conversations.read_thread(
            request.tenant, request.session_id, request.thread, first=request.first_seq, last=request.last_seq
        )
        count = await count_async([one.message.to_openai() for one in stored], (), request.model)
        return EstimateResult(count.tokens, count.method, count.encoding)

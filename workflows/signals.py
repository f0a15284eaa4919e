"""A worker interceptor that drops signals whose arguments do not match their handler.

A client that may signal a workflow can send anything. The SDK drops arguments that the converter cannot read, but a
missing, an extra or a null argument reaches the handler. An error there stops the workflow for good: not even a
cancellation ends it.
"""

from collections.abc import Sequence

from temporalio import workflow
from temporalio.worker import HandleSignalInput, Interceptor, WorkflowInboundInterceptor, WorkflowInterceptorClassInput

from purser.workflows.contract import AgentReport, ApprovalDecided, ApprovalDecision, Message

_ARGUMENT_TYPES: dict[str, type] = {
    Message.APPROVAL: ApprovalDecision,
    Message.APPROVAL_DECIDED: ApprovalDecided,
    Message.AGENT_REPORT: AgentReport,
}
"""Type of the argument of each signal; the other signals take none."""


def matches_handler(signal: str, arguments: Sequence[object]) -> bool:
    """Whether the handler of a signal accepts these arguments."""
    expected = _ARGUMENT_TYPES.get(signal)
    return expected is None or [type(each) for each in arguments] == [expected]


class DropMismatchedSignals(Interceptor):
    """Drops mismatched signals; install it in every worker that runs Purser's workflows."""

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        """Returns the interceptor of every workflow's signals."""
        return _MatchingSignals


class _MatchingSignals(WorkflowInboundInterceptor):
    async def handle_signal(self, input: HandleSignalInput) -> None:
        if matches_handler(input.signal, input.args):
            await super().handle_signal(input)
        else:
            workflow.logger.warning("signal %s dropped: its arguments do not match its handler", input.signal)

"""Signals that do not fit their handler are passed over.

Whoever may signal a workflow can send anything. What the converter cannot read the SDK drops; but a missing, an extra
or a null argument reaches the handler, and an error there stops the workflow for good: not even a cancel ends it.
"""

from collections.abc import Sequence

from temporalio import workflow
from temporalio.worker import (
    HandleSignalInput,
    Interceptor,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from purser.workflows.contract import AgentReport, ApprovalDecided, ApprovalDecision, Message

_TAKES: dict[str, type] = {
    Message.APPROVAL: ApprovalDecision,
    Message.APPROVAL_DECIDED: ApprovalDecided,
    Message.AGENT_REPORT: AgentReport,
}
"""What each signal brings; the others bring nothing."""


def fits(signal: str, arguments: Sequence[object]) -> bool:
    """Whether the handler of a signal can take what it brings."""
    kind = _TAKES.get(signal)
    return kind is None or [type(each) for each in arguments] == [kind]


class PassOverMisfits(Interceptor):
    """For every worker that runs workflows of ours."""

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        """Wraps the signals of every workflow."""
        return _FittingSignals


class _FittingSignals(WorkflowInboundInterceptor):
    async def handle_signal(self, input: HandleSignalInput) -> None:
        if fits(input.signal, input.args):
            await super().handle_signal(input)
        else:
            workflow.logger.warning("a signal %s does not fit its handler and is passed over", input.signal)

"""The path of an activity's calls: it travels in a header from who starts the activity to its worker."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import ActivityHandle, Interceptor, OutboundInterceptor
from temporalio.client import StartActivityInput as ClientStartActivityInput
from temporalio.converter import PayloadConverter
from temporalio.exceptions import ApplicationError
from temporalio.worker import (
    StartActivityInput,
    StartLocalActivityInput,
    WorkflowInboundInterceptor,
    WorkflowOutboundInterceptor,
)

from purser_client.paths import current_path

HEADER = "purser-path"
ENCODED_REMEDY = (
    "Connect the clients of all workers with header_codec_behavior=HeaderCodecBehavior.CODEC, or all with NO_CODEC."
)
_FOREIGN = re.compile(r"[^A-Za-z0-9._~-]")
_LONGEST = 128


def default_path(workflow_id: str) -> list[str]:
    """The session of a workflow, or of an activity without one.

    It is the id, with a digest where the id has characters that no scope has.
    """
    name = _FOREIGN.sub("-", workflow_id)
    if name != workflow_id or len(name) > _LONGEST:
        digest = hashlib.sha256(workflow_id.encode()).hexdigest()[:16]
        name = f"{name[: _LONGEST - len(digest) - 1]}~{digest}"
    return [f"session:{name}"]


def path_of(headers: Mapping[str, Payload], workflow_id: str) -> list[str]:
    """The path that the workflow has set; its session, if its worker is without the plugin.

    Raises:
        ApplicationError: another worker has encoded the header, and this one does not decode it.
    """
    if (payload := headers.get(HEADER)) is None:
        return default_path(workflow_id)
    try:
        scopes: list[str] = PayloadConverter.default.from_payload(payload, list[str])
    except KeyError:
        detail = f"the header {HEADER!r} is encoded, and this worker does not decode it. {ENCODED_REMEDY}"
        raise ApplicationError(detail, type="EncodedHeader", non_retryable=True) from None
    return scopes


class PathClient(Interceptor):
    """Puts `_ClientOutbound` around what a client starts."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return _ClientOutbound(next)


class _ClientOutbound(OutboundInterceptor):
    """Adds the path of the block, if there is one, to the headers of an activity that is started without a workflow."""

    async def start_activity(self, input: ClientStartActivityInput) -> ActivityHandle[Any]:
        if scopes := current_path():
            input.headers = _with_path(input.headers, scopes)
        return await super().start_activity(input)


class PathInbound(WorkflowInboundInterceptor):
    """Puts `PathOutbound` around what a workflow starts."""

    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        super().init(PathOutbound(outbound))


class PathOutbound(WorkflowOutboundInterceptor):
    """Adds the path to the headers of every activity; the worker of the activity knows which of them call models."""

    def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:
        input.headers = _with_path(input.headers, _own_path())
        return super().start_activity(input)

    def start_local_activity(self, input: StartLocalActivityInput) -> workflow.ActivityHandle[Any]:
        input.headers = _with_path(input.headers, _own_path())
        return super().start_local_activity(input)


def _own_path() -> Sequence[str]:
    return current_path() or default_path(workflow.info().workflow_id)


def _with_path(headers: Mapping[str, Payload], scopes: Sequence[str]) -> Mapping[str, Payload]:
    return {**headers, HEADER: PayloadConverter.default.to_payload(list(scopes))}

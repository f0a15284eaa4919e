"""The path of a workflow's calls: it travels in a header from the workflow to the worker of the activity."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadConverter
from temporalio.worker import (
    StartActivityInput,
    StartLocalActivityInput,
    WorkflowInboundInterceptor,
    WorkflowOutboundInterceptor,
)

from purser_client.paths import current_path

HEADER = "purser-path"
_FOREIGN = re.compile(r"[^A-Za-z0-9._~-]")
_LONGEST = 128


def default_path(workflow_id: str) -> list[str]:
    """The session of a workflow: its id, with a digest where the id has characters that no scope has."""
    name = _FOREIGN.sub("-", workflow_id)
    if name != workflow_id or len(name) > _LONGEST:
        digest = hashlib.sha256(workflow_id.encode()).hexdigest()[:16]
        name = f"{name[: _LONGEST - len(digest) - 1]}~{digest}"
    return [f"session:{name}"]


def path_of(headers: Mapping[str, Payload], workflow_id: str) -> list[str]:
    """The path that the workflow has set; its session, if its worker is without the plugin."""
    if (payload := headers.get(HEADER)) is None:
        return default_path(workflow_id)
    scopes: list[str] = PayloadConverter.default.from_payload(payload, list[str])
    return scopes


class PathInbound(WorkflowInboundInterceptor):
    """Puts `PathOutbound` around what a workflow starts."""

    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        super().init(PathOutbound(outbound))


class PathOutbound(WorkflowOutboundInterceptor):
    """Adds the path to the headers of every activity; the worker of the activity knows which of them call models."""

    def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:
        input.headers = _with_path(input.headers)
        return super().start_activity(input)

    def start_local_activity(self, input: StartLocalActivityInput) -> workflow.ActivityHandle[Any]:
        input.headers = _with_path(input.headers)
        return super().start_local_activity(input)


def _with_path(headers: Mapping[str, Payload]) -> Mapping[str, Payload]:
    scopes = list(current_path()) or default_path(workflow.info().workflow_id)
    return {**headers, HEADER: PayloadConverter.default.to_payload(scopes)}

"""The plugin of a Temporal client or worker."""

import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from fnmatch import fnmatchcase

from temporalio.client import HeaderCodecBehavior
from temporalio.plugin import SimplePlugin
from temporalio.worker import (
    ActivityInboundInterceptor,
    Interceptor,
    Worker,
    WorkerConfig,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowRunner,
)
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from purser_client.client import AsyncPurser
from purser_client.errors import invalid
from purser_client.temporal.estimates import Estimating, Reading
from purser_client.temporal.frameworks import MODEL_ACTIVITIES, estimate_of, usage_of
from purser_client.temporal.holding import Holding, PluginOptions
from purser_client.temporal.paths import ENCODED_REMEDY, PathClient, PathInbound

log = logging.getLogger("purser_client")


class PurserPlugin(SimplePlugin):
    """Holds a budget before every attempt of a model activity, and settles it after.

    Pass it to `Client.connect(plugins=[...])` or `Worker(plugins=[...])`, where workflows run and where activities do.
    """

    def __init__(
        self,
        purser: AsyncPurser,
        *,
        activities: Collection[str] = MODEL_ACTIVITIES,
        estimate: Estimating | None = None,
        usage: Reading | None = None,
        lease_s: float = 60.0,
        wait_s: float = 0.0,
        approval_s: float = 20.0,
        ask_again_s: float = 30.0,
    ) -> None:
        """Makes a plugin.

        Args:
            purser: The client of the gateway, open as long as the workers run.
            activities: Names of the activities that call a model once, or patterns such as `agent__*__model_request`.
            estimate: What an activity may use, from its arguments; by default as its framework asks, or by usual names.
            usage: Reads the usage from the result of an activity; by default as its framework reports it, or from any
                provider's reply or its chunks.
            lease_s: How long a hold outlives its worker. Longer than the time in which Temporal notices: a retry after
                that has a hold of its own.
            wait_s: How long an attempt waits for open calls of others, before it leaves the waiting to Temporal.
            approval_s: How long an attempt waits for a person, with heartbeats, before it leaves the waiting to
                Temporal. Shorter than `start_to_close_timeout`.
            ask_again_s: Seconds until the next attempt then looks again.

        Raises:
            InvalidRequest: `activities` are no names.
        """
        self._names = _listed(activities)
        options = PluginOptions(
            purser=purser,
            matches=lambda activity_type: any(fnmatchcase(activity_type, name) for name in self._names),
            estimate=estimate_of if estimate is None else lambda input: estimate(input.args),
            usage=usage_of if usage is None else lambda input, result: usage(result),
            lease_s=lease_s,
            wait_s=wait_s,
            approval_s=approval_s,
            ask_again_s=ask_again_s,
        )
        super().__init__(
            "purser.PurserPlugin", interceptors=[_Around(options), PathClient()], workflow_runner=_passing_through
        )

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        """See base class.

        Raises:
            ValueError: the worker would not read the headers that it writes.
        """
        client = config["client"]
        behavior = client.config(active_config=True)["header_codec_behavior"]
        encodes = behavior is HeaderCodecBehavior.WORKFLOW_ONLY_CODEC and client.data_converter.payload_codec
        if encodes and config.get("activities"):
            raise ValueError(f"with WORKFLOW_ONLY_CODEC, activities do not decode their headers. {ENCODED_REMEDY}")
        return super().configure_worker(config)

    async def run_worker(self, worker: Worker, next: Callable[[Worker], Awaitable[None]]) -> None:
        """See base class. Only here all plugins have added their activities."""
        if activities := worker.config(active_config=True)["activities"]:
            self._warn_of_names(set(map(_type_of, activities)), worker.task_queue)
        await super().run_worker(worker, next)

    def _warn_of_names(self, types: set[str | None], task_queue: str) -> None:
        """Warns of names that no activity of a worker has: a call that is not listed has no budget."""
        if None in types:  # a dynamic activity, which may be called anything
            return
        missing = [name for name in self._names if not any(fnmatchcase(str(one), name) for one in types)]
        if missing != self._names:  # nobody has the activities of all frameworks
            missing = [name for name in missing if name not in MODEL_ACTIVITIES]
        if missing:
            wanted, known = ", ".join(missing), ", ".join(sorted(map(str, types)))
            log.warning("no activity of the worker of %r is called %s; it has %s", task_queue, wanted, known)


def _listed(activities: object) -> list[str]:
    """The names. Raises `InvalidRequest` for others, and for one text, which would be read by letters."""
    if isinstance(activities, Collection) and not isinstance(activities, str):
        names = list(activities)
        if all(isinstance(name, str) for name in names):
            return sorted(names)
    detail = f"activities={activities!r:.140} is no collection of names"
    raise invalid(detail, "Write for example activities={'ask_model'}.", "activities")


def _type_of(function: object) -> str | None:
    """The type of an activity; `None`: any."""
    name: str | None = getattr(function, "__temporal_activity_definition").name
    return name


class _Around(Interceptor):
    """Puts `Holding` around activities and the path into workflows."""

    def __init__(self, options: PluginOptions) -> None:
        self._options = options

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return Holding(next, self._options)

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        return PathInbound


def _passing_through(runner: WorkflowRunner | None) -> WorkflowRunner:
    """Workflows see this package as it is outside their sandbox: otherwise `budget_path` would set a copy."""
    runner = runner or SandboxedWorkflowRunner()
    if not isinstance(runner, SandboxedWorkflowRunner):
        return runner
    return replace(runner, restrictions=runner.restrictions.with_passthrough_modules("purser_client"))

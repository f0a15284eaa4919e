"""The task file that a caller submits, and its validation.

Errors name the place in the file, the value and the remedy. Texts of the task (input, instructions, descriptions,
documents) are never repeated in a message.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo

from purser.activities.errors import InvalidTask
from purser.activities.models.names import check_model_name
from purser.activities.tasks.budgets import STORED, NanoUsd, Part, ScopeBudget, TaskBudget, Tokens
from purser.activities.tasks.checks import NAME, TOO_DEEP, TOOL_NAME, cycle_in, explain, invalid, is_below
from purser.budget.errors import InvalidRequest, InvalidScope
from purser.budget.labels import tags_of
from purser.budget.money import NANO
from purser.budget.policies.policy import PRESETS, PolicyPatch
from purser.budget.scopes import Kind, Path, Scope, agent_scope, check_id, task_scopes
from purser.context.conversation.preferences import Personal
from purser.context.errors import InvalidSettings
from purser.context.figures import Figures
from purser.context.resolution import ResolvedContext
from purser.context.settings import PRESETS as CONTEXT_PRESETS
from purser.wire.limits import MAX_CALL_NANO_USD, MAX_CALL_TOKENS
from purser.wire.storable import is_storable

MAX_AGENTS = 200
MAX_TOOLS = 128
MAX_DEPENDENCIES = 1_000_000
"""Most characters of all ids in `depends_on`: the plan of a task is one payload of Temporal, of at most 2 MB."""
DEFAULT_MAX_TURNS = 20
NOTHING_PERSONAL = Personal()


def _identifier(value: str, info: ValidationInfo) -> str:
    if info.context == STORED:
        return value
    try:
        return check_id(value, "the id")
    except InvalidScope as error:
        raise ValueError(str(error)) from None


def _tags(value: dict[str, str], info: ValidationInfo) -> dict[str, str]:
    if info.context != STORED:
        try:
            tags_of(value)
        except InvalidRequest as error:
            raise ValueError(str(error)) from None
    return value


def _model_name(value: str, info: ValidationInfo) -> str:
    return value if info.context == STORED else check_model_name(value)


Identifier = Annotated[str, AfterValidator(_identifier)]
ModelName = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_model_name)]
Tags = Annotated[dict[str, str], AfterValidator(_tags)]
Name = Annotated[str, Field(min_length=1, max_length=256, pattern=NAME)]
Text = Annotated[str, Field(min_length=1)]


class Document(Part):
    """A text that the caller adds to the windows of the models."""

    kind: Name
    text: Text


class ContextOptions(Figures):
    """How windows are built; missing fields come from session, user, preset and settings."""

    token_budget_per_agent: Tokens | None = None
    budget_line: bool = False
    """Whether the last message of each call says what is left of the agent's and the task's limits."""
    documents: tuple[Document, ...] = ()


class Tool(Part):
    """A tool that a model may call, and the activity that runs it."""

    name: str = Field(pattern=TOOL_NAME)
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments."""
    activity: Name | None = None
    """Activity type; by default the name of the tool."""
    task_queue: Name | None = None
    """Task queue of the activity's workers; by default that of the workflow."""
    price_usd: NanoUsd | None = None
    """Decimal string of dollars that one call costs, or at most costs if the tool reports its cost; `None`: nothing."""


class Agent(Part):
    """One agent of the task."""

    id: Identifier
    model: ModelName
    """As LiteLLM names it, for example `gpt-4o-mini`; by default that of `context`, session, user or settings."""
    instructions: Text
    depends_on: tuple[Identifier, ...] = ()
    """Agents for which this one waits and whose replies it receives."""
    parent: Identifier | None = None
    """Agent on whose budget the calls of this one draw too."""
    max_output_tokens: Annotated[int, Field(ge=1, le=MAX_CALL_TOKENS // 10)] | None = None
    max_turns: int = Field(DEFAULT_MAX_TURNS, ge=1, le=10_000)
    tools: tuple[Tool, ...] = Field((), max_length=MAX_TOOLS)
    api_base: Name | None = None
    budget: ScopeBudget = ScopeBudget()


class TaskFile(Part):
    """A whole task."""

    session_id: Identifier
    task_id: Identifier
    user_id: Identifier | None = None
    """User on whose budget the task draws in addition to its session's; by default the user of the session."""
    submitter: Name | None = None
    tags: Tags = Field(default_factory=dict)
    """Tags of all its calls, in addition to those of the key that submits it."""
    use_case_preset: str | None = None
    input: Text
    budget: TaskBudget = TaskBudget()
    context: ContextOptions = ContextOptions()
    agents: tuple[Agent, ...]

    @classmethod
    def parse(
        cls,
        obj: object,
        allowed_api_bases: Collection[str],
        rules: Iterable[Callable[["TaskFile"], Iterable[str]]] = (),
    ) -> Self:
        """Validates a task file.

        Args:
            obj: the file, parsed as JSON.
            allowed_api_bases: addresses that an agent may name as `api_base`.
            rules: further rules; each returns the faults of a file.

        Raises:
            InvalidTask: names place, value and remedy of each fault: of those of single fields, or else of all others.
        """
        try:
            if not is_storable(obj):
                raise InvalidTask("$ holds a NUL character or half of a surrogate pair: remove it")
            task = cls.model_validate_json(json.dumps(obj, allow_nan=False))
        except ValidationError as error:
            faults = [explain(detail) for detail in error.errors()]
        except RecursionError:
            raise InvalidTask(TOO_DEEP) from None
        except (TypeError, ValueError) as error:
            raise (
                error if isinstance(error, InvalidTask) else InvalidTask("$ is not a JSON object: submit a task file")
            ) from None
        else:
            faults = [*task._faults(allowed_api_bases), *(fault for rule in rules for fault in rule(task))]
            if not faults:
                return task
        raise invalid(faults)

    @classmethod
    def stored(cls, body: Mapping[str, Any]) -> Self:
        """Reads a stored `body`, which was validated when it was submitted."""
        return cls.stored_text(json.dumps(body))

    @classmethod
    def stored_text(cls, body: str) -> Self:
        """Reads a stored body as JSON."""
        return cls.model_validate_json(body, context=STORED)

    @property
    def digest(self) -> bytes:
        """SHA-256 of the file; independent of the order of its fields."""
        body = json.dumps(self.body(), sort_keys=True)
        return hashlib.sha256(body.encode()).digest()

    def body(self) -> dict[str, Any]:
        """The file as it was submitted."""
        body: dict[str, Any] = self.model_dump(mode="json", exclude_unset=True)
        return body

    @property
    def own_scopes(self) -> tuple[Scope, ...]:
        """The scopes that end with the task: its own and those of its agents."""
        return Scope(Kind.TASK, self.task_id), *(agent_scope(self.task_id, agent.id) for agent in self.agents)

    def agent(self, agent_id: str) -> Agent:
        """Returns the agent with this id; `KeyError` if the task has none."""
        return self._by_id[agent_id]

    def path(self, agent_id: str) -> Path:
        """The scopes on which a call of this agent draws, below tenant and user: its parents' before its own."""
        agents = (agent_scope(self.task_id, each) for each in reversed(self._lineage(agent_id)))
        return Path((*task_scopes(self.session_id, self.task_id), *agents))

    def drawing_on(self, scope: Scope) -> int:
        """Number of agents whose calls draw on a scope of this task; 0 if it is not the task's own."""
        return self._drawing.get(scope, 0)

    def policies(self) -> Iterator[tuple[Scope, PolicyPatch, Mapping[str, str]]]:
        """Yields what the task asks for each of its scopes, and which fields come from its use-case preset."""
        for scope in task_scopes(self.session_id, self.task_id):
            yield scope, *self._merged(scope.kind, getattr(self.budget, scope.kind))
        each = PolicyPatch(limit_tokens=self.context.token_budget_per_agent)
        for agent in self.agents:
            own = _over(agent.budget.patch(), _over(self.budget.agent.patch(), each))
            yield agent_scope(self.task_id, agent.id), *self._merged(Kind.AGENT, own)

    def resolved_context(self, base: ResolvedContext, personal: Personal = NOTHING_PERSONAL) -> ResolvedContext:
        """Resolves the context settings of the agents, with the source of each.

        Args:
            base: settings of the process.
            personal: settings of the session and its user.

        Raises:
            InvalidSettings: figures of the request contradict one another.
        """
        return personal.resolved(base, self.context.given, self.use_case_preset)

    def _merged(self, kind: Kind, asked: ScopeBudget | PolicyPatch) -> tuple[PolicyPatch, Mapping[str, str]]:
        request = asked.patch() if isinstance(asked, ScopeBudget) else asked
        preset = PRESETS.get(self.use_case_preset or "", {}).get(kind, PolicyPatch())
        named = preset.to_json().keys() - request.to_json().keys()
        return _over(request, preset), dict.fromkeys(named, str(self.use_case_preset))

    @cached_property
    def _by_id(self) -> Mapping[str, Agent]:
        return {agent.id: agent for agent in self.agents}

    @cached_property
    def _drawing(self) -> Mapping[Scope, int]:
        """Number of agents that draw on each of the task's own scopes."""
        drawn = Counter(drawn_on for agent in self.agents for drawn_on in self._lineage(agent.id))
        agents = {agent_scope(self.task_id, agent_id): count for agent_id, count in drawn.items()}
        return {Scope(Kind.TASK, self.task_id): len(self.agents), **agents}

    def _lineage(self, agent_id: str) -> list[str]:
        """The agent and its parents, innermost first."""
        lineage = [agent_id]
        while (parent := self.agent(lineage[-1]).parent) is not None:
            lineage.append(parent)
        return lineage

    def _faults(self, allowed_api_bases: Collection[str]) -> Iterator[str]:
        """Faults that involve several fields."""
        if self.use_case_preset is not None and self.use_case_preset not in CONTEXT_PRESETS:
            known = ", ".join(CONTEXT_PRESETS)
            yield f"$.use_case_preset is {self.use_case_preset[:80]!r}: use one of {known}"
        else:
            try:
                self.resolved_context(ResolvedContext())
            except InvalidSettings as error:
                yield f"$.context: {error}"
        if not 1 <= len(self.agents) <= MAX_AGENTS:
            yield f"$.agents has {len(self.agents)} agents: a task has 1 to {MAX_AGENTS}"
            return  # to look for cycles among any number could take very long
        ids: set[str] = set()
        for position, agent in enumerate(self.agents):
            place = f"$.agents[{position}]"
            if agent.id in ids:
                yield f"{place}.id is {agent.id!r} for the second time: give each agent its own id"
            ids.add(agent.id)
            yield from _tool_faults(place, agent)
            if agent.api_base is not None and not any(is_below(agent.api_base, base) for base in allowed_api_bases):
                shown = repr(agent.api_base[:200])
                yield f"{place}.api_base is {shown}: add it to PURSER_ALLOWED_API_BASES or leave it out"
        # Each of these presumes that those before it found nothing.
        for find in (partial(self._name_faults, ids), self._cycle_faults, self._nesting_faults):
            if faults := [*find()]:
                yield from faults
                return

    def _name_faults(self, known: set[str]) -> Iterator[str]:
        for position, agent in enumerate(self.agents):
            place = f"$.agents[{position}]"
            parents = () if agent.parent is None else (agent.parent,)
            for name, others in (("depends_on", agent.depends_on), ("parent", parents)):
                if unknown := [other for other in others if other not in known]:
                    yield f"{place}.{name} names {unknown[0]!r}: the task has no agent of this id"
            if repeated := [other for other, times in Counter(agent.depends_on).items() if times > 1]:
                yield f"{place}.depends_on names {repeated[0]!r} more than once: name it once"
        if (size := sum(len(other) for agent in self.agents for other in agent.depends_on)) > MAX_DEPENDENCIES:
            yield (
                f"$.agents depends_on has {size:,} characters in all: use shorter ids or fewer dependencies, "
                f"at most {MAX_DEPENDENCIES:,} characters"
            )

    def _cycle_faults(self) -> Iterator[str]:
        graphs: Mapping[str, Mapping[str, Sequence[str]]] = {
            "depends_on": {agent.id: agent.depends_on for agent in self.agents},
            "parent": {agent.id: (agent.parent,) if agent.parent else () for agent in self.agents},
        }
        for name, edges in graphs.items():
            if cycle := cycle_in(edges):
                shown = cycle if len(cycle) <= 8 else [*cycle[:6], "…", cycle[-1]]
                yield f"$.agents {name} has the cycle {' → '.join(shown)}: no agent may lead back to itself"

    def _nesting_faults(self) -> Iterator[str]:
        for position, agent in enumerate(self.agents):
            try:
                self.path(agent.id)
            except InvalidScope as error:
                yield f"$.agents[{position}].parent nests too deep: {error}"


def _over(upper: PolicyPatch, lower: PolicyPatch) -> PolicyPatch:
    """Merges two patches: a field of `upper` wins over the same field of `lower`."""
    stated = {item.name: value for item in fields(upper) if (value := getattr(upper, item.name)) is not None}
    return replace(lower, **stated)


def _tool_faults(place: str, agent: Agent) -> Iterator[str]:
    names: set[str] = set()
    for position, tool in enumerate(agent.tools):
        if tool.name in names:
            yield f"{place}.tools[{position}].name is {tool.name!r} for the second time: tool names are unique"
        names.add(tool.name)
        if (tool.price_usd or 0) > MAX_CALL_NANO_USD:
            yield f"{place}.tools[{position}].price_usd is above {MAX_CALL_NANO_USD // NANO:,}: write less"

"""The task file that a caller submits, and its validation.

Errors name the place in the file, the value and the remedy. Texts of the task (input, instructions, descriptions,
documents) are never repeated in a message.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    field_serializer,
)

from purser.activities.errors import InvalidTask
from purser.activities.models.names import check_model_name
from purser.activities.tasks.checks import TOO_DEEP, explain, ids_in_circles, is_below
from purser.budget.errors import InvalidRequest, InvalidScope
from purser.budget.holds import MAX_CALL_TOKENS
from purser.budget.money import NANO, parse_dollars, typed_dollars
from purser.budget.policies import MAX_AMOUNT, PRESETS, Mode, PolicyPatch
from purser.budget.scopes import Kind, Path, Scope, agent_scope, check_id
from purser.budget.windows import Window
from purser.context.conversation.storable import is_storable
from purser.context.errors import InvalidSettings
from purser.context.settings import PRESETS as CONTEXT_PRESETS
from purser.context.settings import ContextSettings
from purser.context.strategies import StrategyName
from purser.context.strategies.choice import Preference

STORED = "stored"
"""Validation context for a stored file, which was validated under the rules of its time."""
MAX_AGENTS = 200
MAX_TOOLS = 128
_CONTEXT = {item.name for item in fields(ContextSettings)}


def _identifier(value: str, info: ValidationInfo) -> str:
    if info.context == STORED:
        return value
    try:
        return check_id(value, "the id")
    except InvalidScope as error:
        raise ValueError(str(error)) from None


def _model_name(value: str, info: ValidationInfo) -> str:
    return value if info.context == STORED else check_model_name(value)


def _nano_usd(value: object) -> int:
    """Reads a decimal string of dollars as nano-dollars."""
    try:
        nano = parse_dollars(value) if isinstance(value, str) else None
    except InvalidRequest:
        nano = None
    if not nano:
        raise ValueError(
            'write dollars as a decimal string with at most 9 decimals, for example "0.25", '
            f"above 0 and up to {MAX_AMOUNT // NANO}"
        )
    return nano


Identifier = Annotated[str, AfterValidator(_identifier)]
ModelName = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_model_name)]
Name = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\s\x00-\x1f]+$")]
Text = Annotated[str, Field(min_length=1)]
KeepRule = Annotated[str, Field(min_length=1, max_length=2_000)]
Tokens = Annotated[int, Field(ge=1, le=MAX_AMOUNT)]
Ratio = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
NanoUsd = Annotated[int, PlainValidator(_nano_usd)]


class Part(BaseModel):
    """Base of all parts of a task file: strict, frozen, without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class ScopeBudget(Part):
    """What the task asks for one of its scopes. It may tighten a stored policy, never widen it."""

    limit_tokens: Tokens | None = None
    limit_usd: NanoUsd | None = None
    """Decimal string of dollars; parsed as nano-dollars."""
    mode: Mode | None = None
    window: Window | None = None

    @field_serializer("limit_usd", when_used="json-unless-none")
    def _in_dollars(self, nano: int) -> str:
        return typed_dollars(nano)

    def patch(self) -> PolicyPatch:
        """Returns the fields that are set."""
        return PolicyPatch(self.limit_tokens, self.limit_usd, self.mode, self.window)


class TaskBudget(Part):
    """Budgets by level; `agent` applies to each agent."""

    session: ScopeBudget = ScopeBudget()
    task: ScopeBudget = ScopeBudget()
    agent: ScopeBudget = ScopeBudget()


class Document(Part):
    """A text that the caller adds to the windows of the models."""

    kind: Name
    text: Text


class ContextOptions(Part):
    """How windows are built; missing fields come from the use-case preset and the settings."""

    history_window_size: int | None = Field(None, ge=5, le=1_000)
    token_budget_per_agent: Tokens | None = None
    strategy: StrategyName | None = None
    primers_count: int | None = Field(None, ge=0, le=1_000)
    recents_count: int | None = Field(None, ge=0, le=1_000)
    trigger_ratio: Ratio | None = None
    target_ratio: Ratio | None = None
    preference: Preference | None = None
    summary_keep: KeepRule | None = None
    summary_drop: KeepRule | None = None
    documents: tuple[Document, ...] = ()


class Tool(Part):
    """A tool that a model may call, and the activity that runs it."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments."""
    activity: Name | None = None
    """Activity type; by default the name of the tool."""
    task_queue: Name | None = None
    """Task queue of the activity's workers; by default that of the workflow."""


class Agent(Part):
    """One agent of the task."""

    id: Identifier
    model: ModelName
    """As LiteLLM names it, for example `gpt-4o-mini`."""
    instructions: Text
    depends_on: tuple[Identifier, ...] = ()
    """Agents for which this one waits and whose replies it receives."""
    parent: Identifier | None = None
    """Agent on whose budget the calls of this one draw too."""
    max_output_tokens: Annotated[int, Field(ge=1, le=MAX_CALL_TOKENS // 10)] | None = None
    max_turns: int = Field(20, ge=1, le=10_000)
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
    use_case_preset: str | None = None
    input: Text
    budget: TaskBudget = TaskBudget()
    context: ContextOptions = ContextOptions()
    agents: tuple[Agent, ...]

    @classmethod
    def parse(cls, obj: object, allowed_api_bases: Collection[str]) -> Self:
        """Validates a task file.

        Args:
            obj: the file, parsed as JSON.
            allowed_api_bases: addresses that an agent may name as `api_base`.

        Raises:
            InvalidTask: names the place, the value and the remedy.
        """
        try:
            if not is_storable(obj):
                raise InvalidTask("$ holds a NUL character or half of a surrogate pair: remove it")
            task = cls.model_validate_json(json.dumps(obj, allow_nan=False))
        except ValidationError as error:
            raise InvalidTask("; ".join(explain(detail) for detail in error.errors())) from None
        except RecursionError:
            raise InvalidTask(TOO_DEEP) from None
        except (TypeError, ValueError) as error:
            raise (
                error if isinstance(error, InvalidTask) else InvalidTask("$ is not a JSON object: submit a task file")
            ) from None
        task._check(allowed_api_bases)
        return task

    @classmethod
    def stored(cls, body: Mapping[str, Any]) -> Self:
        """Reads a stored `body`, which was validated when it was submitted."""
        return cls.model_validate_json(json.dumps(body), context=STORED)

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
    def _outer_scopes(self) -> tuple[Scope, ...]:
        """The scopes on which all calls of the task draw, below tenant and user."""
        return Scope(Kind.SESSION, self.session_id), Scope(Kind.TASK, self.task_id)

    @property
    def own_scopes(self) -> tuple[Scope, ...]:
        """The scopes that end with the task: its own and those of its agents."""
        return Scope(Kind.TASK, self.task_id), *(agent_scope(self.task_id, agent.id) for agent in self.agents)

    def agent(self, agent_id: str) -> Agent:
        """Returns the agent with this id; `KeyError` if the task has none."""
        return self._by_id()[agent_id]

    def path(self, agent_id: str) -> Path:
        """The scopes on which a call of this agent draws, below tenant and user: its parents' before its own."""
        lineage = [agent_id]
        while (parent := self.agent(lineage[-1]).parent) is not None:
            lineage.append(parent)
        agents = (agent_scope(self.task_id, each) for each in reversed(lineage))
        return Path((*self._outer_scopes, *agents))

    def policies(self) -> Iterator[tuple[Scope, PolicyPatch, Mapping[str, str]]]:
        """Yields what the task asks for each of its scopes, and which fields come from its use-case preset."""
        for scope in self._outer_scopes:
            yield scope, *self._merged(scope.kind, getattr(self.budget, scope.kind))
        each = PolicyPatch(limit_tokens=self.context.token_budget_per_agent)
        for agent in self.agents:
            own = _over(agent.budget.patch(), _over(self.budget.agent.patch(), each))
            yield agent_scope(self.task_id, agent.id), *self._merged(Kind.AGENT, own)

    def context_settings(self, settings: ContextSettings) -> ContextSettings:
        """Merges request over use-case preset over `settings`; raises `InvalidSettings`."""
        asked = self.context.model_dump(include=_CONTEXT)
        return settings.overridden(asked, CONTEXT_PRESETS.get(self.use_case_preset or "", {}))

    def _merged(self, kind: Kind, asked: ScopeBudget | PolicyPatch) -> tuple[PolicyPatch, Mapping[str, str]]:
        request = asked.patch() if isinstance(asked, ScopeBudget) else asked
        preset = PRESETS.get(self.use_case_preset or "", {}).get(kind, PolicyPatch())
        named = preset.to_json().keys() - request.to_json().keys()
        return _over(request, preset), dict.fromkeys(named, str(self.use_case_preset))

    def _by_id(self) -> Mapping[str, Agent]:
        return {agent.id: agent for agent in self.agents}

    def _check(self, allowed_api_bases: Collection[str]) -> None:
        """Checks that involve several fields."""
        if self.use_case_preset is not None and self.use_case_preset not in PRESETS:
            raise InvalidTask(f"$.use_case_preset is {self.use_case_preset[:80]!r}: use one of {', '.join(PRESETS)}")
        try:
            self.context_settings(ContextSettings())
        except InvalidSettings as error:
            raise InvalidTask(f"$.context: {error}") from None
        if not 1 <= len(self.agents) <= MAX_AGENTS:
            raise InvalidTask(f"$.agents has {len(self.agents)} agents: a task has 1 to {MAX_AGENTS}")
        known: set[str] = set()
        for position, agent in enumerate(self.agents):
            place = f"$.agents[{position}]"
            if agent.id in known:
                raise InvalidTask(f"{place}.id is {agent.id!r} for the second time: give each agent its own id")
            known.add(agent.id)
            _check_tools(place, agent)
            if agent.api_base is not None and not any(is_below(agent.api_base, base) for base in allowed_api_bases):
                raise InvalidTask(
                    f"{place}.api_base is {agent.api_base[:200]!r}: add it to PURSER_ALLOWED_API_BASES or leave it out"
                )
        self._check_graph(known)

    def _check_graph(self, known: set[str]) -> None:
        for position, agent in enumerate(self.agents):
            parents = () if agent.parent is None else (agent.parent,)
            for name, others in (("depends_on", agent.depends_on), ("parent", parents)):
                if unknown := [other for other in others if other not in known]:
                    raise InvalidTask(
                        f"$.agents[{position}].{name} names {unknown[0]!r}: the task has no agent of this id"
                    )
        graphs: Mapping[str, Mapping[str, Sequence[str]]] = {
            "depends_on": {agent.id: agent.depends_on for agent in self.agents},
            "parent": {agent.id: (agent.parent,) if agent.parent else () for agent in self.agents},
        }
        for name, edges in graphs.items():
            if circle := ids_in_circles(edges):
                shown = ", ".join(repr(each) for each in circle[:8])
                raise InvalidTask(f"$.agents {name} has a cycle through {shown}: no agent may lead back to itself")
        for position, agent in enumerate(self.agents):
            try:
                self.path(agent.id)
            except InvalidScope as error:
                raise InvalidTask(f"$.agents[{position}].parent nests too deep: {error}") from None


def _over(upper: PolicyPatch, lower: PolicyPatch) -> PolicyPatch:
    """Merges two patches: a field of `upper` wins over the same field of `lower`."""
    chosen = {}
    for item in fields(PolicyPatch):
        value = getattr(upper, item.name)
        chosen[item.name] = getattr(lower, item.name) if value is None else value
    return PolicyPatch(**chosen)


def _check_tools(place: str, agent: Agent) -> None:
    names: set[str] = set()
    for position, tool in enumerate(agent.tools):
        if tool.name in names:
            raise InvalidTask(
                f"{place}.tools[{position}].name is {tool.name!r} for the second time: tool names are unique"
            )
        names.add(tool.name)

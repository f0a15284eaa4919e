"""`look_up` and `add_up`: the demo's tools, which read and aggregate the records of an incident."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from temporalio import activity

from purser.activities.tools import Tools
from purser.compose.demo.recordings.tasks import TOOL_QUEUE
from purser.workflows.contract import ToolCall, ToolResult

Row = Mapping[str, Any]


class LookUp(BaseModel):
    """Rows of a table of the incident's records, from `first` to `last`, both included."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    table: str
    """changes, alerts, checkout, payments or double_charges."""
    first: str = "00:00"
    """Time of the first row, HH:MM in UTC."""
    last: str = "23:59"
    """Time of the last row."""

    def answer(self) -> dict[str, Any]:
        """The tool's result, as JSON."""
        return {"rows": self._rows()} if self.table in _tables() else self._unknown_table()

    def _rows(self) -> list[Row]:
        return [row for row in _tables()[self.table] if self.first <= row["at"] <= self.last]

    def _unknown_table(self) -> dict[str, Any]:
        return {"error": f"there is no table {self.table[:80]!r}: use {', '.join(_tables())}"}


class AddUp(LookUp):
    """Count, sum, least and most of one column of a table of the incident's records."""

    column: str

    def answer(self) -> dict[str, Any]:
        """The tool's result, as JSON."""
        if self.table not in _tables():
            return self._unknown_table()
        figures = [figure for row in self._rows() if isinstance(figure := row.get(self.column), int)]
        if not figures:
            return {"error": f"{self.column[:80]!r} has no figures in these rows of {self.table!r}"}
        return {"count": len(figures), "sum": sum(figures), "least": min(figures), "most": max(figures)}


QUESTIONS: Mapping[str, type[LookUp]] = {"look_up": LookUp, "add_up": AddUp}
"""The arguments of each tool, by its name."""


@dataclass(frozen=True)
class RecordTools:
    """The tools as activities."""

    tools: Tools

    @activity.defn(name="tool_look_up")
    async def look_up(self, call: ToolCall) -> ToolResult:
        """Stores the rows of a table as the result of a call."""
        return await self._answer(LookUp, call)

    @activity.defn(name="tool_add_up")
    async def add_up(self, call: ToolCall) -> ToolResult:
        """Stores the figures of a column as the result of a call."""
        return await self._answer(AddUp, call)

    async def _answer(self, question: type[LookUp], call: ToolCall) -> ToolResult:
        _, arguments = await self.tools.load_arguments(call)
        return await self.tools.store_result(call, json.dumps(answer(question, arguments)))


def answer(question: type[LookUp], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's result for the model; invalid arguments result in an error text, so that the model can try again."""
    try:
        return question.model_validate(arguments).answer()
    except ValidationError as error:
        return {"error": "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())}


def definition(name: str) -> dict[str, Any]:
    """The declaration of a tool in a task file."""
    schema = QUESTIONS[name].model_json_schema()
    return {
        "name": name,
        "description": schema.pop("description"),
        "parameters": schema,
        "activity": f"tool_{name}",
        "task_queue": TOOL_QUEUE,
    }


@cache
def _tables() -> Mapping[str, Sequence[Row]]:
    tables: dict[str, list[Row]] = json.loads(
        resources.files("purser.compose.demo.tools").joinpath("records.json").read_text("utf-8")
    )
    return tables

"""`purser window compare`."""

from typing import Annotated, Any

import typer

from purser.budget.scopes import check_id
from purser.compose.cli.context.tokens import ModelOption
from purser.compose.cli.output import DataOption, JsonOption, out, print_answer
from purser.context.strategies.choice import Preference


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("window compare")(compare)


def compare(
    session_id: Annotated[str, typer.Argument(metavar="SESSION", help="A stored session.")],
    budget: Annotated[int, typer.Option(min=1, help="Tokens of the whole window.")],
    model: ModelOption,
    preference: Annotated[Preference | None, typer.Option(help="What `auto` optimizes for.")] = None,
    thread: Annotated[str, typer.Option(help="An agent's own thread, as `TASK/AGENT`.")] = "",
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare all strategies on a stored session: what each keeps, summarizes and drops, and what its window costs."""
    from purser.compose.cli.api.client import gateway

    path = f"/v1/sessions/{check_id(session_id, 'the session id')}/window/compare"
    with gateway(data) as api:
        found = api.get(path, budget=budget, model=model, preference=preference, thread=thread)
    print_answer(found, _print, as_json=as_json)


def _print(found: dict[str, Any]) -> None:
    from rich.markup import escape

    from purser.budget.money import dollars
    from purser.compose.cli.tables import print_table, table

    out.print(f"windows of {found['budget']:,} tokens for {found['model']}", markup=False)
    counts = ("verbatim", "clipped", "cleared", "summarised", "dropped")
    rows = [
        (
            one["strategy"] + (f" → {one['applied']}" if one["applied"] not in (None, one["strategy"]) else ""),
            "—" if one["tokens"] is None else f"{one['tokens']:,}",
            "—" if one["tokens_saved"] is None else f"{one['tokens_saved']:,}",
            "—" if one["nano_usd"] is None else dollars(one["nano_usd"]),
            *(f"{one[name]:,}" for name in counts),
            "own" if one["summary_generated"] else str(one["summary_version"] or ""),
            escape(one["reason"]),
        )
        for one in found["windows"]
    ]
    print_table(table("strategy", "tokens", "saved", "cost", *counts, "summary", "why", rows=rows))

"""Setup of the gateway under test: sessions to spend in, tasks and approval requests to read."""

from typing import Any

import httpx

from purser.benchmarks.http.mix import Target
from purser.benchmarks.http.system import System

SESSIONS, TASKS, APPROVALS = 20, 50, 20


def prepare(system: System) -> Target:
    """Creates sessions, tasks and approval requests over HTTP."""
    headers = {"Authorization": f"Bearer {system.key}"}
    with httpx.Client(base_url=system.url, headers=headers, timeout=30) as http:

        def ask(method: str, path: str, body: object) -> Any:
            return http.request(method, path, json=body).raise_for_status().json()

        sessions = [f"s{number}" for number in range(SESSIONS)]
        for session in sessions:
            ask("PUT", f"/v1/budgets/session:{session}", {"limit_tokens": 10**12, "mode": "hard"})
        tasks = [ask("POST", "/v1/tasks", _task(number))["task_id"] for number in range(TASKS)]
        approvals = []
        for number in range(APPROVALS):
            scope = f"session:short{number}"
            ask("PUT", f"/v1/budgets/{scope}", {"limit_tokens": 1, "mode": "approval"})
            short = ask("POST", "/v1/holds", {"key": scope, "path": [scope], "tokens": 500})
            approvals.append(short["approval_id"])
    return Target(system.url, system.key, tuple(sessions), tuple(tasks), tuple(approvals))


def spent(system: System, target: Target) -> dict[str, tuple[int, int]]:
    """Tokens spent and tokens held by session, as the gateway returns them."""
    headers = {"Authorization": f"Bearer {system.key}"}
    with httpx.Client(base_url=system.url, headers=headers, timeout=30) as http:
        found = {name: http.get(f"/v1/budgets/session:{name}").raise_for_status().json() for name in target.sessions}
    return {name: (budget["tokens"]["spent"], budget["tokens"]["held"]) for name, budget in found.items()}


def _task(number: int) -> dict[str, Any]:
    agents = [{"id": name, "model": "openai/gpt-4o", "instructions": "Answer."} for name in ("a", "b")]
    return {"session_id": f"look{number}", "task_id": f"look{number}", "input": "Hello.", "agents": agents}

"""Uses the ledger as a library: no Temporal, no HTTP. Needs PURSER_DSN of a migrated database."""

import asyncio
import os
import uuid

from purser.budget.actors import Actor
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest, Report
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import create_pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Path, Scope
from purser.budget.usage import normalize

TENANT = "default"


async def main() -> str:
    """Hold, start the attempt with it, and settle, for one call."""
    async with await create_pool(os.environ["PURSER_DSN"]) as pool:
        settings = LedgerSettings()
        ledger, policies = Ledger(pool, settings), Policies(pool, settings)
        limit = PolicyPatch.parse({"limit_tokens": 50_000, "mode": "hard"})
        await policies.set(TENANT, Scope.parse("user:ana"), limit, by=Actor("ana", None))

        path = Path.parse(["user:ana", "session:own-ledger"])
        ask = HoldRequest(key=str(uuid.uuid4()), path=path, ask=Amount(tokens=2_000), start=True)
        answer = await ledger.hold(TENANT, ask)
        if answer.hold_id is None:
            return f"{answer.gate.verdict} by {answer.gate.decisive.scope}"
        # Here the model is called.
        usage = normalize({"prompt_tokens": 1_200, "completion_tokens": 300, "total_tokens": 1_500})
        settled = await ledger.settle(TENANT, answer.hold_id, 1, Report(usage, nano_usd=360_000))
        return f"{settled.state}: {settled.charged.tokens} tokens"


if __name__ == "__main__":
    result = asyncio.run(main())
    os.write(1, f"{result}\n".encode())

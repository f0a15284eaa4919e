"""Decides an approval request through Temporal, signed with the approver's key.

`python docs/examples/decide.py TASK_ID APPROVAL_ID`, with PURSER_API_KEY, PURSER_URL and PURSER_TEMPORAL_ADDRESS.
"""

import asyncio
import hashlib
import hmac
import json
import os
import sys

import httpx
from temporalio.client import Client


async def main(task_id: str, approval_id: str) -> None:
    """Approve 5,000 tokens and print the state of the request."""
    secret = os.environ["PURSER_API_KEY"]
    headers = {"Authorization": f"Bearer {secret}"}
    async with httpx.AsyncClient(base_url=os.environ["PURSER_URL"], headers=headers) as gateway:
        own = (await gateway.get("/v1/keys/self")).json()
        key_id, tenant = own["key_id"], own["tenant"]
        client = await Client.connect(os.environ["PURSER_TEMPORAL_ADDRESS"])

        decision = {
            "approval_id": approval_id,
            "decision_id": "ticket-4711",
            "decision": "approve",
            "approver": "ana",
            "grant_tokens": 5000,
        }
        canonical = json.dumps(decision, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        signature = hmac.new(hashlib.sha256(secret.encode()).digest(), canonical, "sha256").hexdigest()
        signed = decision | {"key_id": key_id, "signature": signature}
        workflow = client.get_workflow_handle(f"task-{tenant}/{task_id}")
        result = await workflow.execute_update("decide_approval", signed)
        if result["error"]:
            sys.exit(result["message"])

        # Read back last: an interpreter that exits right after a response to Temporal's client may abort
        # (temporalio/sdk-python#300).
        request = (await gateway.get(f"/v1/approvals/{approval_id}")).json()

    sys.stdout.write(f"{request['state']}\n")


asyncio.run(main(*sys.argv[1:]))

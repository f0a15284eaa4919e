"""Receives webhook messages and prints them: `uvicorn --app-dir docs/examples --port 9000 webhook_receiver:app`."""

# ruff: noqa: T201

import os

from fastapi import FastAPI, Request, Response
from standardwebhooks import Webhook, WebhookVerificationError

app = FastAPI()
verifier = Webhook(os.environ["WEBHOOK_SECRET"])
seen: set[str] = set()  # store it where it survives a restart


@app.post("/purser")
async def receive(request: Request) -> Response:
    try:
        message = verifier.verify(await request.body(), dict(request.headers))
    except WebhookVerificationError:
        return Response(status_code=401)
    if message["id"] not in seen:
        seen.add(message["id"])
        print(f"[{message['severity']}] {message['text']} {message['url']}", flush=True)
    return Response(status_code=204)


def chat_message(message: dict[str, str]) -> dict[str, str]:
    mark = {"low": "", "medium": "⚠️ ", "high": "🔶 ", "critical": "🔴 "}[message["severity"]]
    return {"text": f"{mark}*{message['title']}*\n{message['text']}\n<{message['url']}|Open in Purser>"}

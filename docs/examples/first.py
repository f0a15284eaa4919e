"""Runs first.json under a new name, with the provider that Purser includes: `python docs/examples/first.py`.

Purser must be running and allow the provider's address (`make up` does). The task needs an approval to complete.
"""

import asyncio
import errno
import json
import sys
import tempfile
import time
from pathlib import Path

from purser.compose.demo.provider import serve_provider

TASK = Path(__file__).with_name("first.json")
PORT = 4010
PURSER = [str(Path(sys.executable).with_name("purser")), "run"]


async def main() -> int:
    """Run the task and return the exit code of `purser run`."""
    name = f"first-{int(time.time())}"
    task = json.loads(TASK.read_text()) | {"task_id": name, "session_id": name}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "task.json"
        file.write_text(json.dumps(task))
        async with serve_provider(port=PORT):
            running = await asyncio.create_subprocess_exec(*PURSER, str(file))
            return await running.wait()


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main()))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        sys.exit(f"port {PORT} is taken: stop the other provider")

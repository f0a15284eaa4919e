"""`python -m purser.compose.demo.provider`: the provider as a process, until a signal stops it."""

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

from purser.compose.demo.provider.errors import ProviderError
from purser.compose.demo.provider.recorded import read_recordings
from purser.compose.demo.provider.script import Script, read_script
from purser.compose.demo.provider.serving import serve_provider


def main() -> int:
    """Serves the provider; writes `{"address", "api_base"}` to stdout on one line when it is ready."""
    arguments = _arguments()
    try:
        asyncio.run(_serve(arguments))
    except (ProviderError, OSError) as error:
        sys.stderr.write(f"provider: {error}\n")
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m purser.compose.demo.provider", description=__doc__)
    parser.add_argument("--port", type=int, default=4010, help="port on loopback; 0: any free port (default: 4010)")
    parser.add_argument("--log", type=Path, help="new log file: a line when a request arrives and one when it ends")
    parser.add_argument("--log-text", action="store_true", help="write prompts to the log, not only their digests")
    parser.add_argument("--recordings", type=Path, help="folder that python -m purser.compose.demo.recordings writes")
    parser.add_argument("--script", type=Path, help="JSON file of rules and faults")
    parser.add_argument("--key", help="bearer key that clients must send (default: any)")
    return parser.parse_args()


async def _serve(arguments: argparse.Namespace) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serve_provider(
        port=arguments.port,
        log=arguments.log,
        keep_text=arguments.log_text,
        recordings=read_recordings(arguments.recordings) if arguments.recordings else (),
        script=read_script(arguments.script) if arguments.script else Script(),
        key=arguments.key,
    ) as provider:
        sys.stdout.write(json.dumps({"address": provider.address, "api_base": provider.api_base}) + "\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    sys.exit(main())

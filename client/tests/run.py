"""Runs the tests of the adapters, each in the environment of its framework, on one gateway; two of them at a time.

Arguments: names of frameworks, as the files in client/requirements. Needs what `make doors` installs.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import certifi

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "client" / "tests"
LOOPS = {"litellm": "session"}
"""How long the event loop of a framework lives, if not only for a test. LiteLLM keeps its first one."""
SHARED = {"openai-2": "clients/test_openai.py"}
"""Tests of an environment that has none of its own: they run with its version of a package too."""
AT_A_TIME = 2
"""Frameworks whose tests run at once, each with a provider of its own: they wait most of the time."""
END = "-----END CERTIFICATE-----\n"
PRICES = {"gpt-4o": {"input_cost_per_token": 1e-06, "output_cost_per_token": 4e-06, "max_output_tokens": 4096}}


def main(frameworks: Sequence[str]) -> int:
    """Runs them all, also after a failure; returns 1 if any failed."""
    with (
        tempfile.TemporaryDirectory(prefix="purser-doors-") as home,
        _system(Path(home)) as (env, providers),
        ThreadPoolExecutor(AT_A_TIME) as at_once,
    ):
        return max(at_once.map(lambda framework: _run(framework, env, providers), frameworks))


@contextmanager
def _system(home: Path) -> Iterator[tuple[dict[str, str], SimpleQueue[str]]]:
    """A gateway, Temporal and providers; yields the environment of the tests and the addresses of the providers."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PURSER_")}
    (home / "prices.json").write_text(json.dumps(PRICES))
    settings = {
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_DATA_HOME": str(home / "share"),
        "PURSER_PRICE_FILE": str(home / "prices.json"),
        "PURSER_METRICS_PORT": "0",
        "PURSER_GRACE_S": "1",
        "PURSER_SWEEP_EVERY_S": "1",
    }
    purser = Path(sys.executable).with_name("purser")
    up = [str(purser), "up", "--data", str(home / "data"), "--port", "0", "--json"]
    serving = [sys.executable, "-m", "purser.compose.demo.provider", "--port", "0"]
    with ExitStack() as stack:
        addresses = [stack.enter_context(_process(serving, plain, home))["address"] for _ in range(AT_A_TIME)]
        settings["PURSER_ALLOWED_API_BASES"] = ",".join(addresses)
        ready = stack.enter_context(_process(up, plain | settings, home))
        providers: SimpleQueue[str] = SimpleQueue()
        for address in addresses:
            providers.put(address)
        env = plain | {
            "PURSER_URL": ready["gateway"],
            "PURSER_API_KEY": ready["admin_key"],
            "PURSER_TEMPORAL_ADDRESS": ready["temporal"],
            "OPENAI_API_KEY": "none",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "SSL_CERT_FILE": str(_one_authority(home / "authority.pem")),
            "PYTHONPATH": os.pathsep.join((str(ROOT / "client"), str(TESTS))),
        }
        yield env, providers


def _one_authority(file: Path) -> Path:
    """Writes the first of the certificate authorities that clients trust, for their setting `SSL_CERT_FILE`.

    Each client of HTTP reads all of them, which takes 25 ms: a fifth of the processor time of these tests, where
    everything is on loopback.
    """
    file.write_text(Path(certifi.where()).read_text().partition(END)[0] + END)
    return file


@contextmanager
def _process(command: Sequence[str], env: dict[str, str], home: Path) -> Iterator[Any]:
    """A process until the end of the block; yields the line that says where it is."""
    log = home / f"{Path(command[0]).name}.log"
    with log.open("w") as errors:
        process = subprocess.Popen(command, env=env, cwd=home, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"{' '.join(command)} ended before it was ready:\n{log.read_text()}")
        yield json.loads(line)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _run(framework: str, env: dict[str, str], providers: SimpleQueue[str]) -> int:
    python = ROOT / ".venv-doors" / framework / "bin" / "python"
    tests = TESTS / SHARED.get(framework, framework.replace("-", "_"))
    command = [str(python), "-m", "pytest", "-q", "-c", str(TESTS / "pytest.ini"), "--rootdir", str(ROOT), str(tests)]
    for what in ("fixture", "test"):
        command += ["-o", f"asyncio_default_{what}_loop_scope={LOOPS.get(framework, 'function')}"]
    provider = providers.get()
    try:
        done = subprocess.run(
            command,
            env=env | {"PROVIDER": provider},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    finally:
        providers.put(provider)
    sys.stdout.write(f"{framework}: {done.stdout}")
    sys.stdout.flush()
    return int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

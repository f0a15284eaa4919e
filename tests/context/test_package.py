"""Import cost of the package for programs that embed it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    ["purser.context", "purser.context.windows", "purser.context.compression.requests", "purser.context.tokens"],
)
def test_importing_a_rule_loads_no_driver_tokenizer_or_client(module: str) -> None:
    heavy = ("asyncpg", "tiktoken", "litellm", "temporalio", "httpx", "purser.context.postgres")
    code = f"import sys, {module}; print(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""

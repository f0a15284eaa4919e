"""Warnings of libraries stay off the terminal."""

import subprocess
import sys

LIBRARY_WARNS = """
import sys, warnings
from purser.activities.models.library_warnings import quieten_warnings
from purser.compose.cli import main

sys.argv = ["purser", "--version"]
try:
    main()
except SystemExit as end:
    assert end.code == 0
# A model call quietens the warnings while another thread is inside `catch_warnings`.
with warnings.catch_warnings():
    quieten_warnings()
warnings.warn_explicit("of pydantic", UserWarning, "schema.py", 1, module="pydantic._internal._generate_schema")
warnings.warn_explicit("of Purser", UserWarning, "cli.py", 1, module="purser.compose.cli")
"""


def test_no_warning_of_pydantic_is_shown_even_if_another_thread_restores_its_filters() -> None:
    ended = subprocess.run([sys.executable, "-c", LIBRARY_WARNS], capture_output=True, text=True, check=True)
    assert "of Purser" in ended.stderr
    assert "of pydantic" not in ended.stderr

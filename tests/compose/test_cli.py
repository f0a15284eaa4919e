"""The command line: one document on stdout, problems, exit codes."""

import json
import os
import signal
import socket
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from purser.compose.cli import GROUPS
from purser.compose.cli.api import reports
from tests.compose.conftest import System
from tests.support.servers.commands import Commands
from tests.support.servers.forked import Forks
from tests.support.servers.purser import Purser
from tests.support.servers.purser import command as purser_command


@pytest.fixture
def purser(tmp_path: Path) -> Purser:
    return Purser.at(tmp_path, data_dir=str(tmp_path / "data"))


@pytest.fixture
def commands(forks: Forks, tmp_path: Path) -> Purser:
    """Commands that cost less to start."""
    return forks.purser(tmp_path, data_dir=str(tmp_path / "data"))


def test_the_version_is_that_of_the_package(purser: Purser) -> None:
    assert purser.run("--version").stdout.strip() == version("purser")


def test_every_command_takes_json(purser: Purser) -> None:
    from purser.compose.cli import build

    without = []
    for command in build().registered_commands:
        assert command.callback is not None
        if "as_json" not in command.callback.__annotations__:
            without.append(command.callback.__name__)
    assert without == []


@pytest.mark.parametrize("arguments", [["nonsense"], ["up", "--nonsense"], ["up", "--port", "x"], ["up", "--port"]])
def test_bad_usage_is_exit_code_2_and_a_problem(commands: Purser, arguments: list[str]) -> None:
    problem = commands.json(*arguments, code=2)
    assert problem["type"] == "urn:purser:bad-usage"
    assert problem["detail"]
    assert "--help" in problem["remedy"]


def test_a_failure_is_exit_code_1_and_a_problem_with_its_remedy(commands: Purser) -> None:
    problem = commands.json("worker", code=1)
    assert problem["type"] == "urn:purser:settings-error"
    assert problem["detail"].startswith("dsn is not set")
    assert "PURSER_DSN" in problem["remedy"]


def test_without_json_a_failure_goes_to_stderr(commands: Purser) -> None:
    done = commands.run("worker")
    assert (done.returncode, done.stdout) == (1, "")
    assert "PURSER_DSN" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bug_says_nothing_of_its_message_on_stdout(purser: Purser, tmp_path: Path) -> None:
    script = (
        "import purser.compose.cli, sys; sys.argv[1:] = ['doctor', '--json']; purser.compose.cli.GROUPS = ('broken',)"
    )
    (tmp_path / "broken.py").write_text("def register(app): raise KeyError('private words')")
    alias = "import broken; sys.modules['purser.compose.cli.broken'] = broken"
    done = subprocess.run(
        [sys.executable, "-c", f"{script}; {alias}; purser.compose.cli.main()"],
        cwd=tmp_path,
        env=dict(purser.env),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["type"] == "urn:purser:internal-error"
    assert "private words" not in done.stdout
    assert "Traceback" in done.stderr


def test_an_error_of_the_operating_system_is_a_problem_that_names_the_file(commands: Purser) -> None:
    (commands.home / "file").touch()
    data = str(commands.home / "file" / "data")
    done = commands.run("up", "--data", data, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "type": "urn:purser:operating-system-error",
        "title": "Operating system error",
        "detail": f"Not a directory: {data!r}",
    }
    assert "Traceback" not in done.stderr


def test_bad_usage_says_what_is_wrong_in_words_of_purser(commands: Purser) -> None:
    detail = commands.json("tasks", "list", "--state", "runing", code=2)["detail"]
    assert detail.startswith("Invalid value for '--state': 'runing' is not one of 'running', ")


@pytest.mark.parametrize("arguments", [["redact", "talk.json"], ["redact", "talk.json", "--json"], ["--help"]])
@pytest.mark.stack
def test_a_full_disk_is_one_line_on_stderr(purser: Purser, arguments: list[str]) -> None:
    (purser.home / "talk.json").write_text("[]")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*purser_command(), *arguments],
            env=purser.env,
            cwd=purser.home,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (done.returncode, done.stderr) == (1, "Operating system error: No space left on device\n")


def test_ctrl_c_is_a_problem(purser: Purser) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, (purser.home / "stderr.log").open("wb") as log:
        there = purser.having(url=f"http://127.0.0.1:{silent.getsockname()[1]}", api_key="k")
        process = there.spawn("tasks", "list", "--json", stderr=log)
        silent.settimeout(60)
        with silent.accept()[0]:
            process.send_signal(signal.SIGINT)
            code = process.wait(60)
    assert process.stdout is not None
    with process.stdout as out:
        assert (code, json.load(out)["type"]) == (1, "urn:purser:interrupted")


def test_ctrl_c_while_a_command_is_loaded_is_a_problem_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reports, "register", pressed)
    done = Commands.at(tmp_path).run("usage")
    assert (done.returncode, done.stderr) == (1, "Interrupted: ctrl-C ended the command\n")


def test_a_closed_stdout_changes_nothing_else(purser: Purser) -> None:
    for options, code in ("--version", 0), ("approvals list --json", 1):
        closed = f"{purser_command()[0]} {options} >&-"
        done = subprocess.run(["sh", "-c", closed], env=purser.env, cwd=purser.home, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.stack
@pytest.mark.parametrize(
    "locale", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_any_text_is_written_whatever_the_locale(purser: Purser, locale: dict[str, str]) -> None:
    messages = [{"role": "user", "content": "Grüße 安娜 😀"}]
    (purser.home / "talk.json").write_text(json.dumps(messages))
    there = Purser(purser.home, {**purser.env, **locale})
    options = ("--budget", "400", "--model", "of-no-vocabulary")
    assert there.json("window", "talk.json", *options)["messages"] == messages
    done = there.run("window", "talk.json", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"Gr\xfc\xdfe \u5b89\u5a1c \U0001f600" in done.stdout


def test_help_loads_nothing_heavy() -> None:
    script = "import sys; from purser.compose.cli import build; build(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"litellm", "fastapi", "temporalio", "asyncpg", "alembic", "tiktoken", "httpx", "pydantic"}
    assert heavy & set(loaded) == set()


@pytest.mark.stack
def test_a_list_loads_what_it_needs(system: System) -> None:
    """Each command starts anew, also in other people's scripts."""
    script = """
import atexit, sys
from purser.compose.cli import main
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
sys.argv = ["purser", "approvals", "list"]
main()
"""
    env = dict(system.purser.env)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env)
    needless = {"alembic", "asyncpg", "click", "cryptography", "fastapi", "litellm", "numpy", "psutil"}
    needless |= {"pygments", "sqlalchemy", "starlette", "structlog", "temporalio", "tiktoken", "uvicorn", "uvloop"}
    needless |= {"purser.activities.models.egress.routes", "purser.compose.cli.api.tasks", "purser.workflows.contract"}
    assert needless & set(done.stderr.split()) == set()


@pytest.mark.parametrize(("group", "words"), GROUPS.items())
def test_each_command_is_found_by_its_first_word(group: str, words: tuple[str, ...]) -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    import_module(f"purser.compose.cli.{group}").register(app)
    registered = typer.main.get_command(app)
    assert isinstance(registered, TyperGroup)
    assert {name.split()[0] for name in registered.commands} == set(words)


def test_settings_without_patterns_load_nothing_of_redaction() -> None:
    """It loads tables of phone numbers, for which a command would wait."""
    shown = "print('purser.context.redaction' in sys.modules)"
    script = f"""
import sys
from purser.compose.settings import Settings
Settings()
{shown}
Settings(redaction_patterns={{'CODE': 'C-[0-9]+'}})
{shown}
"""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PURSER_")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.split() == ["False", "True"]

"""`purser bench`, as a user runs it."""

import gzip
import json
from pathlib import Path

import pytest

from tests.support.servers.commands import Commands

TALK = {
    "id": "1",
    "lang": "en",
    "messages": [{"role": "user", "content": "Is there a train to Haven on Sunday, and what would it cost us?"}],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data" / "talks").mkdir(parents=True)
    with gzip.open(tmp_path / "data" / "talks" / "dev.jsonl.gz", "wt") as file:
        file.write(json.dumps(TALK) + "\n")
    return tmp_path / "data"


def test_a_benchmark_reports_its_gate_its_settings_and_its_results(tmp_path: Path, data: Path) -> None:
    found = Commands.at(tmp_path).json("bench", "tokens", "--data", str(data))
    assert found.keys() == {"bench", "gate_passed", "settings", "results"}
    assert (found["bench"], found["gate_passed"]) == ("tokens", True)
    assert found["settings"]["data"] == str(data)
    assert found["settings"]["cores"] > 0


def test_the_folder_may_be_a_setting_and_people_see_tables(tmp_path: Path, data: Path) -> None:
    shown = Commands.at(tmp_path, bench_data=str(data)).run("bench", "tokens")
    assert shown.returncode == 0
    assert "Bias in percent, o200k_base" in shown.stdout
    assert shown.stdout.endswith("Gate passed.\n")


def test_people_see_on_stderr_what_is_measured_and_programs_nothing(tmp_path: Path, data: Path) -> None:
    purser = Commands.at(tmp_path, bench_data=str(data))
    lines = purser.run("bench", "tokens").stderr.splitlines()
    assert {" ".join(line.split()[2:]) for line in lines} == {
        "tokens conversations in o200k_base",
        "tokens conversations in cl100k_base",
    }
    assert purser.run("bench", "tokens", "--json").stderr == ""


def test_a_benchmark_of_redaction_says_what_it_does(tmp_path: Path, data: Path) -> None:
    done = Commands.at(tmp_path).run("bench", "redact", "--data", str(data))
    assert "redact all sets by purser" in " ".join(done.stderr.split())


def test_a_failed_gate_is_a_failure(tmp_path: Path, data: Path) -> None:
    with gzip.open(data / "talks" / "dev.jsonl.gz", "at") as file:
        # The formula is weakest on random letters.
        file.write(
            json.dumps(TALK | {"messages": [{"role": "user", "content": "xqzjk vwpfh qqxzj kkvbw " * 40}]}) + "\n"
        )
    purser = Commands.at(tmp_path)
    assert purser.json("bench", "tokens", "--data", str(data), code=1)["gate_passed"] is False
    assert purser.run("bench", "tokens", "--data", str(data)).stdout.endswith("Gate failed.\n")


def test_without_a_folder_the_problem_names_the_remedy(tmp_path: Path) -> None:
    problem = Commands.at(tmp_path).json("bench", "tokens", code=1)
    assert problem["type"] == "urn:purser:missing-data"
    assert "--data DIR or PURSER_BENCH_DATA" in problem["remedy"]


def test_a_missing_name_is_a_problem_of_two_lines(tmp_path: Path) -> None:
    done = Commands.at(tmp_path).run("bench")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 2)
    assert "Missing argument 'NAME'. Choose from: context, edge, " in done.stderr


def test_an_unknown_benchmark_is_bad_usage(tmp_path: Path) -> None:
    assert Commands.at(tmp_path).json("bench", "nonesuch", code=2)["type"] == "urn:purser:bad-usage"

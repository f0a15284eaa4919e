"""`purser budget apply`, `export` and `replay`."""

from pathlib import Path

import httpx
import pytest

from tests.compose.conftest import System
from tests.support.servers.clients import PATIENCE_S
from tests.support.servers.commands import Commands


def test_a_file_is_previewed_applied_once_and_exported_as_it_was(purser: Commands, name: str, tmp_path: Path) -> None:
    file = tmp_path / "budgets.yaml"
    template = f'  "task:{name}-*": {{limit_usd: 0.25, mode: hard}}\n'
    file.write_text(f"policies:\n{template}  user:{name}: {{limit_tokens: 7}}\n")
    preview = purser.run("budget", "apply", str(file), "--dry-run")
    assert preview.returncode == 0, preview.stderr
    assert f"+ task:{name}-*" in preview.stdout
    assert "limit_nano_usd: - → 250000000" in preview.stdout
    assert "2 policies would change." in preview.stdout
    applied = purser.json("budget", "apply", str(file))
    assert [(change["name"], change["action"]) for change in applied["changes"]] == [
        (f"task:{name}-*", "create"),
        (f"user:{name}", "create"),
    ]
    assert purser.json("budget", "apply", str(file)) == {"changes": [], "applied": True}
    exported = tmp_path / "exported.yaml"
    exported.write_text(purser.run("budget", "export").stdout)
    assert purser.json("budget", "apply", str(exported), "--prune")["changes"] == []
    assert purser.json("budget", "export")["policies"][f"user:{name}"] == {"limit_tokens": 7}


def test_a_file_is_replayed_over_the_calls_of_the_past(purser: Commands, tmp_path: Path) -> None:
    file = tmp_path / "proposed.yaml"
    file.write_text('policies:\n  "task:*": {limit_tokens: 1, mode: hard}\n')
    shown = purser.run("budget", "replay", str(file), "--since", "1h")
    assert shown.returncode == 0, shown.stderr
    assert "tasks stopped" in shown.stdout
    assert "Not known: whether a call that is stopped would have been repeated" in shown.stdout
    assert purser.json("budget", "replay", str(file))["total"].keys() >= {"refused", "saved_tokens", "eased_tokens"}


def test_the_steps_of_a_ladder_have_a_table_of_their_own(
    system: System, purser: Commands, name: str, tmp_path: Path
) -> None:
    ask = {"key": name, "path": [f"session:{name}"], "tokens": 1_000, "model": "gpt-4o"}
    headers = {"Authorization": f"Bearer {system.ready['admin_key']}"}
    with httpx.Client(base_url=system.ready["gateway"], headers=headers, timeout=PATIENCE_S) as client:
        held = client.post("/v1/holds", json=ask).json()
        report = {"attempt": 1, "usage": {"input": 100, "output": 700}}
        client.post(f"/v1/holds/{held['hold_id']}/settle", json=report).raise_for_status()
    file = tmp_path / "proposed.yaml"
    file.write_text(f"policies:\n  session:{name}: {{limit_tokens: 1000, ladder: [{{ratio: 0.5, output: 300}}]}}\n")
    shown = purser.run("budget", "replay", str(file), "--since", "1h")
    assert shown.returncode == 0, shown.stderr
    assert "of unknown effect" in shown.stdout
    assert "what a cheaper model would have answered" in " ".join(shown.stdout.split())


def test_a_ladder_is_exported_as_it_was_applied_and_a_change_of_it_is_shown(
    purser: Commands, name: str, tmp_path: Path
) -> None:
    file, exported = tmp_path / "budgets.yaml", tmp_path / "exported.yaml"
    step = "{{ratio: 0.8, model: [openai/gpt-4o-mini, a/b], output: {output}, compression: 0.6}}"
    other = "{{ratio: 0.95, output: 300}}"
    text = f"policies:\n  session:{name}: {{{{limit_tokens: 9, ladder: [{step}, {other}]}}}}\n"
    file.write_text(text.format(output=0.5))
    purser.json("budget", "apply", str(file))
    ladder = purser.json("budget", "export")["policies"][f"session:{name}"]["ladder"]
    assert [{name: str(value) for name, value in one.items() if name != "model"} for one in ladder] == [
        {"ratio": "0.8", "output": "0.5", "compression": "0.6"},
        {"ratio": "0.95", "output": "300"},
    ]
    exported.write_text(purser.run("budget", "export").stdout)
    assert purser.json("budget", "apply", str(exported), "--prune")["changes"] == []
    assert purser.json("budget", "apply", str(file))["changes"] == []
    file.write_text(text.format(output=0.25))
    [change] = purser.json("budget", "apply", str(file))["changes"]
    assert (change["name"], change["action"]) == (f"session:{name}", "change")
    assert [str(side["ladder"][0]["output"]) for side in (change["before"], change["after"])] == ["0.5", "0.25"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("policies: [", "neither YAML nor JSON"),
        ("policies:\n  user:a: {mode: hard}\n  user:a: {mode: soft}\n", "'user:a' occurs twice"),
        ("user:a: {mode: hard}\n", "is no document of policies"),
        ("policies:\n  5: {mode: hard}\n", "is no document of policies"),
        ("- 1\n", "is no document of policies"),
        ("policies:\n  user:a: {mood: hard}\n", "unknown field 'mood'"),
        ("policies: !!python/object/apply:os.getcwd []\n", "neither YAML nor JSON"),
        ("[" * 10_000, "is nested too deeply"),
    ],
)
def test_a_wrong_file_is_named_with_its_fault_and_changes_nothing(
    purser: Commands, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "budgets.yaml"
    file.write_text(text)
    answer = purser.run("budget", "apply", str(file))
    assert (answer.returncode, answer.stdout) == (1, "")
    assert said in " ".join(answer.stderr.split())


def test_a_file_that_is_missing_is_named(purser: Commands) -> None:
    answer = purser.run("budget", "apply", "nowhere.yaml")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "'nowhere.yaml' cannot be read" in answer.stderr

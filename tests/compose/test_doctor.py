"""`purser doctor` on real parts, present and away."""

from pathlib import Path

from compose.stack.ports import LOOPBACK, free_port
from tests.support.purser import Purser


def test_with_nothing_running_it_says_how_to_start(tmp_path: Path) -> None:
    answer = Purser.at(tmp_path).json("doctor", "--data", str(tmp_path / "data"))
    states = {finding["name"]: finding["state"] for finding in answer["findings"]}
    assert {name for name, state in states.items() if state == "off"} == {
        "up",
        "postgres",
        "schema",
        "temporal",
        "gateway",
    }
    assert all("purser up" in finding["remedy"] for finding in answer["findings"] if finding["state"] == "off")


def test_it_tells_versions_and_where_settings_come_from(tmp_path: Path, dsn: str, temporal_address: str) -> None:
    (tmp_path / "purser.toml").write_text('log_level = "warning"')
    answer = Purser.at(tmp_path, dsn=dsn, temporal_address=temporal_address).json("doctor")
    details = {finding["name"]: finding["detail"] for finding in answer["findings"]}
    assert answer["ok"]
    assert details["postgres"].startswith("18.")
    assert temporal_address in details["temporal"]
    assert answer["configured"] == {"dsn": "environment", "temporal_address": "environment", "log_level": "file"}


def test_what_does_not_answer_fails_and_names_the_setting_to_correct(tmp_path: Path, temporal_address: str) -> None:
    away = f"{LOOPBACK}:{free_port()}"
    purser = Purser.at(tmp_path, dsn=f"postgresql://u:s3cr3t@{away}/d", temporal_address=away, url=f"http://{away}")
    answer = purser.json("doctor", code=1)
    failed = {finding["name"]: finding for finding in answer["findings"] if finding["state"] == "failed"}
    assert set(failed) == {"postgres", "schema", "temporal", "gateway"}
    assert "PURSER_DSN" in failed["postgres"]["remedy"]
    assert "PURSER_TEMPORAL_ADDRESS" in failed["temporal"]["remedy"]
    assert "PURSER_URL" in failed["gateway"]["remedy"]
    assert "s3cr3t" not in str(answer)

    wrong = Purser.at(tmp_path, temporal_address=temporal_address, temporal_namespace="nowhere")
    failed = {f["name"]: f for f in wrong.json("doctor", code=1)["findings"] if f["state"] == "failed"}
    assert "'nowhere'" in failed["temporal"]["detail"]
    assert "PURSER_TEMPORAL_NAMESPACE" in failed["temporal"]["remedy"]


def test_a_database_without_the_schema_is_told_to_migrate(tmp_path: Path, empty_dsn: str) -> None:
    purser = Purser.at(tmp_path, dsn=empty_dsn)
    failed = {f["name"]: f for f in purser.json("doctor", code=1)["findings"] if f["state"] == "failed"}
    assert set(failed) == {"schema"}
    assert "purser migrate" in failed["schema"]["remedy"]

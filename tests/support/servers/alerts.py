"""The shipped rules on real metrics: scrapes of a fault become the input of `promtool test rules`."""

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.support.servers.metrics import Asked
from tests.support.servers.monitoring import PROMETHEUS, program

RULES = PROMETHEUS / "rules.yml"
_FIRES = 'count(ALERTS{{alertname="{alert}",alertstate="firing"}})'


class Scrapes:
    """Scrapes one minute apart, without waiting for the minutes."""

    def __init__(self) -> None:
        self._taken: list[Mapping[str, float]] = []

    def take(self, *texts: bytes, minutes: int = 1) -> None:
        """Takes the metrics of all processes, which stay as they are for some minutes."""
        self._taken.append(dict(one for text in texts for one in _samples(text.decode())))
        self.rest(minutes - 1)

    def rest(self, minutes: int) -> None:
        """Lets nothing more happen for some minutes."""
        self._taken += [self._taken[-1]] * minutes

    def again(self, minutes: int) -> None:
        """Lets what happened between the last two scrapes happen once more in each of some minutes."""
        before, last = self._taken[-2:]
        for times in range(1, minutes + 1):
            self._taken.append({one: value + times * (value - before.get(one, 0)) for one, value in last.items()})

    @property
    def minute(self) -> int:
        """When the last scrape was taken."""
        return len(self._taken) - 1

    def shown(self, series: str) -> float:
        """The value of a series in the last scrape."""
        return self._taken[-1][series]

    def check(self, folder: Path, alert: str, *, firing: Sequence[int], silent: Sequence[int]) -> None:
        """Requires that the alert is firing in some minutes, and not in others."""
        series = [
            {"series": name.replace("{", '{job="purser-worker",', 1), "values": " ".join(self._values(name))}
            for name in sorted(set().union(*self._taken))
            if name.partition("{")[0] in Asked.by(_expressions()[alert]).metrics
        ]
        series.append({"series": 'up{job="purser-worker"}', "values": f"1x{self.minute}"})
        expected = [(minute, [{"labels": "{}", "value": 1}]) for minute in firing] + [(minute, []) for minute in silent]
        checks = [
            {"expr": _FIRES.format(alert=alert), "eval_time": f"{minute}m", "exp_samples": samples}
            for minute, samples in expected
        ]
        document = {
            "rule_files": [str(RULES)],
            "evaluation_interval": "1m",
            "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": checks}],
        }
        path = folder / f"{alert}.yml"
        path.write_text(yaml.safe_dump(document))
        done = subprocess.run(
            [program("promtool"), "test", "rules", str(path)], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{path.read_text()}"

    def _values(self, series: str) -> Iterable[str]:
        """The series from the first scrape on; Prometheus notes when a series is no longer served."""
        shown = False
        for scrape in self._taken:
            yield str(scrape[series]) if series in scrape else "stale" if shown else "_"
            shown = series in scrape


@cache
def _expressions() -> Mapping[str, str]:
    """What each alert asks."""
    groups = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    return {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}


def _samples(text: str) -> Iterable[tuple[str, float]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={json.dumps(value)}" for name, value in sorted(sample.labels.items()))
            yield f"{sample.name}{{{labels}}}", sample.value

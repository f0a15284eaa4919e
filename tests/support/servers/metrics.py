"""What a scrape holds, and which metrics and labels an expression of Prometheus asks for."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

OF_THE_SCRAPER = frozenset({"job", "instance", "le"})
"""Labels that Prometheus adds, and that of buckets."""
_TYPE = re.compile(r"^# TYPE (\S+) (\S+)$", re.MULTILINE)
_SAMPLE = re.compile(r"^([a-z_]+)(?:\{(.*)\})? \S+$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)=~?"')
_MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"')
_METRIC = re.compile(r"\b((?:purser|temporal)_[a-z0-9_]+)\b(?:\{([^}]*)\})?")
_GROUPED = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
_PARTS = {"histogram": ("_bucket", "_sum", "_count")}


@dataclass
class Scrape:
    """Families of one or several scrapes."""

    types: dict[str, str] = field(default_factory=dict)
    """Type by family."""
    series: dict[str, set[str]] = field(default_factory=dict)
    """Names of labels by the name of a series."""

    @classmethod
    def of(cls, *texts: str) -> "Scrape":
        """Reads the text format."""
        found = cls()
        for text in texts:
            for family, kind in _TYPE.findall(text):
                found.types[family] = kind
                for part in _PARTS.get(kind, ("",)):
                    found.series.setdefault(family + part, set())
            for name, labels in _SAMPLE.findall(text):
                found.series.setdefault(name, set()).update(_LABEL.findall(labels))
        return found


@dataclass(frozen=True)
class Asked:
    """What an expression asks for."""

    metrics: Mapping[str, frozenset[str]]
    """Labels that are matched, by metric."""
    grouped: frozenset[str]
    """Labels that are kept or dropped, of any of the metrics."""

    @classmethod
    def by(cls, expression: str) -> "Asked":
        """Reads PromQL."""
        metrics: dict[str, frozenset[str]] = {}
        for name, matchers in _METRIC.findall(expression):
            metrics[name] = metrics.get(name, frozenset()) | frozenset(_MATCHER.findall(matchers))
        groups: Iterable[str] = _GROUPED.findall(expression)
        return cls(metrics, frozenset(label.strip() for group in groups if group.strip() for label in group.split(",")))

    def missing(self, known: Mapping[str, set[str]]) -> list[str]:
        """What nobody serves."""
        found = [name for name in self.metrics if name not in known]
        every = set().union(*(known.get(name, set()) for name in self.metrics)) | OF_THE_SCRAPER
        for name, labels in self.metrics.items():
            unknown = labels - known.get(name, set()) - OF_THE_SCRAPER
            found += [f"{name}{{{label}}}" for label in sorted(unknown)]
        return found + [f"by ({label})" for label in sorted(self.grouped - every)]

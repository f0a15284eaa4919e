"""Usage files of providers: requests, or sums by day and model, in the columns that OpenAI and Anthropic export.

A file is recognized by its columns; any other file is an error that says which columns are read.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from purser.budget.errors import BudgetError, InvalidRequest
from purser.budget.usage import normalize

Row = Mapping[str, Any]
_VENDOR = re.compile(r"^([a-z-]+\.)?anthropic\.")
"""Before the name of a model of Amazon Bedrock, with the region of its profile."""
_NAMES = {"text-completion-openai": "openai", "anthropic_text": "anthropic"}
"""Further names that LiteLLM has for a provider."""
_SNAPSHOT = re.compile(r"([-@](\d{4}-\d\d-\d\d|\d{8})(-v\d+:\d+)?|-latest)$")
_GPT_SNAPSHOT = re.compile(r"^(gpt-.+)-(0[1-9]|1[0-2])([0-2]\d|3[01])$")
"""Month and day. Other vendors name models that differ by four digits."""


@dataclass(frozen=True, slots=True)
class ProviderUse:
    """One line of a usage file."""

    request_id: str
    """The id of one request; empty: the line is a sum."""
    day: date | None
    """The day in UTC; always known for a sum."""
    model: str
    """The model, without provider and snapshot."""
    calls: int | None
    """Number of requests; `None`: the file does not say."""
    tokens: int
    """Input and output, cached input included."""


@dataclass(frozen=True, slots=True)
class UsageFile:
    """What a usage file says."""

    format: str
    uses: tuple[ProviderUse, ...]

    @property
    def by_request(self) -> bool:
        """Whether its lines are single requests."""
        return bool(self.uses and self.uses[0].request_id)

    @property
    def provider(self) -> str:
        """LiteLLM's name of the provider whose sums these are."""
        return self.format.partition("-")[0]


def read_usage_file(text: str) -> UsageFile:
    """Reads CSV, JSON or JSON lines; raises `InvalidRequest`, which names the line and the column."""
    rows = list(_rows(text))
    if not rows:
        raise InvalidRequest("the file has no line of usage: export it again with usage in its time range")
    columns = set(rows[0])
    for known in _FORMATS:
        if all(any(name in columns for name in words) for words in known.needs):
            return UsageFile(known.name, tuple(_read(known, rows)))
    known_columns = "; ".join(f"{one.name}: {', '.join(' or '.join(words) for words in one.needs)}" for one in _FORMATS)
    raise InvalidRequest(
        f"the columns {', '.join(sorted(columns))[:200]} are of no known usage file: needed are, for {known_columns}"
    )


def plain_model(name: str) -> str:
    """A model without its provider and its snapshot: `openai/gpt-4o-2024-08-06` is `gpt-4o`.

    A call names an alias, and the provider's file the snapshot that served it.
    """
    model = _VENDOR.sub("", name.rpartition("/")[2])
    return _GPT_SNAPSHOT.sub(r"\1", _SNAPSHOT.sub("", model))


def may_be_of(provider: str, name: str) -> bool:
    """Whether calls to a model may be on a provider's bill: those to `azure/gpt-4o` are not on OpenAI's.

    Only what the name says counts: `gpt-4o` may be of any provider, `anthropic.claude-…` is of Amazon Bedrock.
    """
    named, slash, _ = name.partition("/")
    return _NAMES.get(named, named) == provider if slash else not _VENDOR.match(name)


@dataclass(frozen=True, slots=True)
class _Format:
    name: str
    needs: tuple[tuple[str, ...], ...]
    """Columns that the file must have; of each group, one."""
    read: Callable[[Row], ProviderUse]


def _read(known: _Format, rows: Iterable[Row]) -> Iterator[ProviderUse]:
    for place, row in enumerate(rows, 1):
        try:
            yield known.read(row)
        except (BudgetError, ValueError, KeyError, TypeError, RecursionError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise InvalidRequest(f"line {place} of the usage file, {known.name}: {what[:200]}") from None


# --- CSV, JSON, JSON lines --------------------------------------------------------------------------------------------


def _rows(text: str) -> Iterator[Row]:
    text = text.removeprefix("\ufeff").strip()
    if text[:1] not in ("{", "["):
        yield from _csv_rows(text)
        return
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = list(map(_line, enumerate(text.splitlines(), 1)))
    parts = _objects(found if isinstance(found, list) else [found])
    pages = [part for part in parts if _is_page(part)]
    if pages and all(page.get("has_more") for page in pages):
        raise InvalidRequest("the file lacks the last page of several (has_more): export all pages into one list")
    for part in parts:
        for row in _objects(part["data"]) if _is_page(part) else [part]:
            yield from _of_bucket(row)


def _csv_rows(text: str) -> Iterator[Row]:
    number = 0
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(text)), 1):
            if None in row:
                raise InvalidRequest(f"line {number} of the usage file has more columns than the header")
            yield row
    except csv.Error as error:
        raise InvalidRequest(f"line {number + 1} of the usage file: {error}") from None


def _line(numbered: tuple[int, str]) -> Any:
    number, line = numbered
    try:
        return json.loads(line)
    except ValueError:
        raise InvalidRequest(f"line {number} of the usage file is not JSON") from None
    except RecursionError:
        raise InvalidRequest(f"line {number} of the usage file is nested too deeply") from None


def _objects(values: list[Any]) -> list[Row]:
    if not all(isinstance(value, dict) for value in values):
        raise InvalidRequest("the file is no list of objects: export usage as CSV or JSON")
    return values


def _is_page(part: Row) -> bool:
    return isinstance(part.get("data"), list)


def _of_bucket(row: Row) -> Iterator[Row]:
    """The results of a bucket of time, each with the time of its bucket; any other row as it is."""
    results = row.get("results")
    if not isinstance(results, list):
        yield row
        return
    times = {name: row[name] for name in ("start_time", "starting_at") if name in row}
    for result in results:
        if not isinstance(result, dict):
            raise InvalidRequest("results of a bucket are no objects: export usage as CSV or JSON")
        yield {**result, **times}


# --- formats ----------------------------------------------------------------------------------------------------------


def _openai(row: Row) -> ProviderUse:
    tokens = _count(row, "input_tokens") + _count(row, "output_tokens")
    calls = _count(row, "num_model_requests")
    day = _day(row, "start_time_iso" if row.get("start_time_iso") else "start_time")
    return ProviderUse("", day, _model(row), calls, tokens)


def _anthropic(row: Row) -> ProviderUse:
    written = row.get("cache_creation") or {}
    if not isinstance(written, Mapping):
        raise ValueError("cache_creation is not an object")
    cached = sum(_count(written, name) for name in ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"))
    cached += _count(row, "cache_read_input_tokens")
    tokens = _count(row, "uncached_input_tokens") + cached + _count(row, "output_tokens")
    return ProviderUse("", _day(row, "starting_at"), _model(row), None, tokens)


_ANTHROPIC_TOKENS = (
    "usage_input_tokens_no_cache", "usage_input_tokens_cache_write_5m", "usage_input_tokens_cache_write_1h",
    "usage_input_tokens_cache_read", "usage_output_tokens",
)  # fmt: skip


def _anthropic_csv(row: Row) -> ProviderUse:
    tokens = sum(_count(row, name) for name in _ANTHROPIC_TOKENS)
    return ProviderUse("", _day(row, "usage_date_utc"), _model(row), None, tokens)


def _request(row: Row) -> ProviderUse:
    usage = row.get("usage") if isinstance(row.get("usage"), dict) else row
    assert isinstance(usage, Mapping)
    counts = {name: _count(usage, name) for name in usage if name.endswith("_tokens") and usage[name] not in ("", None)}
    total = normalize(counts).total
    at = next((name for name in ("timestamp", "created_at", "created") if row.get(name)), None)
    return ProviderUse(_text(row, "request_id"), None if at is None else _day(row, at), _model(row), 1, total)


_FORMATS: Sequence[_Format] = (
    _Format("requests", (("request_id",), ("model",), ("input_tokens", "prompt_tokens", "usage")), _request),
    _Format(
        "openai", (("start_time_iso", "start_time"), ("model",), ("input_tokens",), ("num_model_requests",)), _openai
    ),
    _Format("anthropic", (("starting_at",), ("model",), ("uncached_input_tokens",)), _anthropic),
    _Format(
        "anthropic-csv",
        (("usage_date_utc",), ("model_version", "model"), ("usage_input_tokens_no_cache",)),
        _anthropic_csv,
    ),
)


def _model(row: Row) -> str:
    name = "model" if row.get("model") else "model_version"
    if not row.get(name):
        raise ValueError("model is empty: export usage grouped by model")
    return plain_model(_text(row, name))


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is empty")
    if not value.isprintable():  # neither a database nor a terminal takes such text
        raise ValueError(f"{name} is {value[:40]!r}, not a name")
    return value


def _count(row: Row, name: str) -> int:
    value = row.get(name)
    if value in (None, ""):
        return 0
    text = str(value)
    if isinstance(value, bool) or not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise ValueError(f"{name} is {text[:40]!r}, not a count")
    return int(text)


def _day(row: Row, name: str) -> date:
    text = str(row[name])
    try:
        if text.isascii() and text.isdecimal():
            return datetime.fromtimestamp(int(text), UTC).date()
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo is None else at.astimezone(UTC)).date()
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{name} is {text[:40]!r}, not a time") from None

"""Settings: sources, precedence, and refused values."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import SecretStr

from purser.budget.policies.fields import Mode, OnExpiry
from purser.budget.scopes import Kind
from purser.compose.errors import SettingsError
from purser.compose.settings import Settings, load_settings
from purser.compose.settings.ledger import ledger_settings
from purser.compose.settings.reference import PAGE, render

Config = Callable[[str], Path]


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment without settings, in a directory without a file."""
    import os

    for name in os.environ:
        if name.startswith("PURSER_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Config:
    """Write the settings file."""

    def write(text: str) -> Path:
        file = tmp_path / "elsewhere.toml"
        file.write_text(text, encoding="utf-8")
        monkeypatch.setenv("PURSER_CONFIG_FILE", str(file))
        return file

    return write


def test_the_numbers_of_the_design_are_the_defaults() -> None:
    settings = load_settings()
    assert (settings.session_limit_tokens, settings.task_limit_tokens, settings.agent_limit_tokens) == (
        200_000,
        200_000,
        50_000,
    )
    assert (settings.lease_s, settings.grace_s, settings.max_wait_s) == (120, 30, 600)
    assert (settings.mode, settings.approval_deadline_s, settings.approval_on_expiry) == (
        Mode.SOFT,
        1_800,
        OnExpiry.DENY,
    )
    assert (settings.history_token_budget_ratio, settings.compression_trigger_ratio) == (0.60, 0.75)
    assert settings.compression_target_ratio == 0.375
    assert settings.task_queue == "purser"


def test_what_others_could_misuse_is_closed_until_an_operator_opens_it() -> None:
    settings = load_settings()
    assert not settings.trust_temporal_identity
    assert not settings.temporal_ui
    assert (settings.allowed_api_bases, settings.allowed_providers, settings.webhook_targets) == ((), (), ())


def test_command_line_goes_before_environment_before_file_before_default(
    monkeypatch: pytest.MonkeyPatch, config: Config
) -> None:
    config("lease_s = 1\ngrace_s = 1\nmax_wait_s = 1\n")
    monkeypatch.setenv("PURSER_LEASE_S", "2")
    monkeypatch.setenv("PURSER_GRACE_S", "2")

    settings = load_settings(lease_s=3, sweep_every_s=None)

    assert (settings.lease_s, settings.source("lease_s")) == (3, "command line")
    assert (settings.grace_s, settings.source("grace_s")) == (2, "environment")
    assert (settings.max_wait_s, settings.source("max_wait_s")) == (1, "file")
    assert (settings.sweep_every_s, settings.source("sweep_every_s")) == (5, "default")


def test_a_file_in_the_working_directory_is_read(tmp_path: Path) -> None:
    (tmp_path / "purser.toml").write_text('mode = "hard"\n[provider_keys]\n"api.example.com" = "sk-1"\n')
    settings = load_settings()
    assert settings.mode is Mode.HARD
    assert settings.provider_keys["api.example.com"].get_secret_value() == "sk-1"


def test_the_constructor_looks_at_nothing_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PURSER_LEASE_S", "2")
    assert Settings().lease_s == 120


def test_lists_and_objects_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PURSER_WARN_AT", "[0.5, 0.95]")
    monkeypatch.setenv("PURSER_ALLOWED_API_BASES", "https://a.example/v1, http://127.0.0.1:8000")
    monkeypatch.setenv("PURSER_PROVIDER_KEYS", '{"a.example": "sk-1"}')
    settings = load_settings()
    assert settings.warn_at == (Decimal("0.5"), Decimal("0.95"))
    assert settings.allowed_api_bases == ("https://a.example/v1", "http://127.0.0.1:8000")
    assert settings.provider_keys["a.example"].get_secret_value() == "sk-1"


@pytest.mark.parametrize(
    ("other", "name", "value"),
    [
        ("SUMMARIZATION_TRIGGER_RATIO", "compression_trigger_ratio", 0.8),
        ("SUMMARIZATION_MODEL", "summarizer", "small-model"),
        ("TOKEN_BUDGET_PER_AGENT", "agent_limit_tokens", 1_000),
        ("HISTORY_WINDOW_SIZE", "history_window_messages", 30),
    ],
)
def test_other_names_in_use_elsewhere_mean_the_same(
    monkeypatch: pytest.MonkeyPatch, config: Config, other: str, name: str, value: object
) -> None:
    config(f"{other.lower()} = {value!r}")
    assert getattr(load_settings(), name) == value
    monkeypatch.delenv("PURSER_CONFIG_FILE")
    monkeypatch.setenv(f"PURSER_{other}", str(value))
    assert getattr(load_settings(), name) == value


@pytest.mark.parametrize(
    "name",
    ["CONTEXT_WINDOW_TOKENS", "HISTORY_TOKEN_BUDGET_RATIO", "OUTPUT_TOKEN_RESERVE", "ROUTER_HISTORY_TOKEN_BUDGET"],
)
def test_variables_of_the_checklist_exist(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(f"PURSER_{name}", "1")
    assert getattr(load_settings(), name.lower()) == 1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("PURSER_LEASE_S", "soon", "lease_s (PURSER_LEASE_S, from the environment): "),
        ("PURSER_LEASE_S", "0", "greater than or equal to 1"),
        ("PURSER_LEASE_S", "86401", "less than or equal to 86400"),
        ("PURSER_SESSION_LIMIT_TOKENS", "-1", "session_limit_tokens"),
        ("PURSER_MODE", "hrad", "'soft', 'approval' or 'hard'"),
        ("PURSER_TIMEZONE", "Mars/Base", "Mars/Base"),
        ("PURSER_WARN_AT", "0.8;0.9", "PURSER_WARN_AT (from the environment) is not valid JSON"),
        (
            "PURSER_WARN_AT",
            "0.8",
            'warn_at (PURSER_WARN_AT, from the environment): write a list as JSON, such as ["0.8"]',
        ),
        ("PURSER_WARN_AT", "[-1]", "warn_at"),
        ("PURSER_BACKPRESSURE", "[0.8]", 'write a list as JSON, such as [["0.80", 50], '),
        ("PURSER_URL", "127.0.0.1:8787", "'127.0.0.1:8787' is not an address such as"),
        ("PURSER_URL", "localhost:8787", "begin with http:// or https://"),
        ("PURSER_URL", "http://[::1", "'http://[::1' is not an address"),
        ("PURSER_URL", "http://h:99999", "'http://h:99999' is not an address"),
        ("PURSER_URL", "http://h\n", r"'http://h\n' is not an address"),
        ("PURSER_PUBLIC_URL", "purser.example.com", "'purser.example.com' is not an address"),
        ("PURSER_URL", "http://h h", "'http://h h' is not an address"),
        ("PURSER_TEMPORAL_UI_URL", "http://", "'http://' is not an address"),
        ("PURSER_API_KEY", "kéy", "api_key (PURSER_API_KEY, from the environment): use printable ASCII"),
        ("PURSER_API_KEY", "k1\nk2", "without spaces and line breaks"),
        ("PURSER_METRICS_TOKEN", "tóken", "metrics_token (PURSER_METRICS_TOKEN, from the environment): use printable"),
        ("PURSER_TEMPORAL_API_KEY", "k1 k2", "without spaces and line breaks"),
        ("PURSER_PROVIDER_KEYS", '{"api.example.com": "kéy"}', "use printable ASCII characters only"),
        ("PURSER_PROVIDER_PROXY", "proxy:3128", "a proxy looks like http://user:password@host:port"),
        ("PURSER_PROVIDER_PROXY", "socks5://proxy:1080", "a proxy looks like http://"),
        ("PURSER_EMBEDDING_API_BASE", "llm:4010", "'llm:4010' is not an address such as https://api.example.com/v1"),
        ("PURSER_SUMMARIZER_API_BASE", "llm:4010", "'llm:4010' is not an address such as"),
        ("PURSER_DEFAULT_MODEL", "http://llm:4010", "a model name contains no address"),
        ("PURSER_TASK_QUEUE", "a b", "use at least one character, and no spaces"),
        ("PURSER_AUDIT_EVERY_S", "99999999999999", "audit_every_s (PURSER_AUDIT_EVERY_S, from the environment): "),
        ("PURSER_MAX_OUTPUT_TOKENS", "99999999999999", "max_output_tokens"),
        ("PURSER_BACKPRESSURE", "[[0.8, -5]]", "backpressure"),
        ("PURSER_ALLOWED_API_BASES", "api.example.com", "'api.example.com' is not an address"),
        ("PURSER_PRICE_FILE", "nowhere.json", "there is no file 'nowhere.json'"),
        ("PURSER_TEMPORAL_TLS_CLIENT_CERT", __file__, "temporal_tls_client_key go together"),
        ("PURSER_WORKER_BUILD_ID", "1.0", "worker_deployment and worker_build_id go together"),
        ("PURSER_COMPRESSION_TRIGGER_RATIO", "0.3", "compression_target_ratio must be below"),
        ("PURSER_MIN_OUTPUT_TOKENS", "5000", "must not be above max_output_tokens"),
        ("PURSER_UNKNOWN_PRICE", "ceiling", "needs unknown_price_ceiling_nano_usd_per_token"),
        ("PURSER_METRICS_HOST", "0.0.0.0", "set metrics_token too"),
        ("PURSER_URL", "http://127.0.0.1:8787?tenant=a", "leave out what begins with ? or #"),
        ("PURSER_PUBLIC_URL", "https://purser.example.com/?team=a", "leave out what begins with ? or #"),
        ("PURSER_TEMPORAL_UI_URL", "https://ui.example.com/#a", "leave out what begins with ? or #"),
        ("PURSER_STREAMS_PER_KEY", "501", "streams_per_key must not be above streams_per_tenant"),
        ("PURSER_CALL_BYTES_PER_TENANT", "16777216", "call_bytes_per_key must not be above call_bytes_per_tenant"),
        ("PURSER_SESSION_READS_PER_KEY", "5", "session_reads_per_key must not be above session_reads_per_tenant"),
        ("PURSER_DSN", "mysql://x", "a DSN looks like postgresql://"),
        ("PURSER_DSN", "postgresql://u:p@h:abc/d", "dsn (PURSER_DSN, from the environment): its port is no number"),
        ("PURSER_DSN", "postgresql://u:p@h:65536/d", "its port is no number up to 65535"),
        ("PURSER_DSN", "postgresql://u:p@h,[::1]:0/d", "its port is no number up to 65535"),
        ("PURSER_CONFIG_FILE", "nowhere.toml", "there is no file 'nowhere.toml'"),
    ],
)
def test_a_bad_value_is_refused_with_its_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert message in str(refused.value)
    assert refused.value.remedy


@pytest.mark.parametrize(
    "name", ["gateway_host", "metrics_host", "temporal_address", "temporal_namespace", "task_queue"]
)
def test_an_empty_name_in_the_file_is_refused(config: Config, name: str) -> None:
    """An empty host would open the gateway to all addresses of the machine."""
    config(f'{name} = ""\nmetrics_token = "t"')
    with pytest.raises(SettingsError, match="use at least one character"):
        load_settings()


@pytest.mark.parametrize("name", ["url", "public_url", "temporal_ui_url"])
def test_a_slash_at_the_end_of_an_address_means_nothing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Paths are appended to it, and it is compared with that of the running gateway."""
    monkeypatch.setenv(f"PURSER_{name.upper()}", "https://purser.example.com/team/")
    assert getattr(load_settings(), name) == "https://purser.example.com/team"


def test_a_line_of_a_reply_is_not_longer_than_the_reply(config: Config) -> None:
    config("provider_line_bytes = 1048577\nprovider_reply_bytes = 1048576")
    with pytest.raises(SettingsError, match="provider_line_bytes must not be above provider_reply_bytes"):
        load_settings()


@pytest.mark.parametrize("hosts", ["h", "h:5432", "h:", "[::1]", "[::1]:5432", "h1:1,h2,[::1]:65535", "", "%2Ftmp"])
def test_a_dsn_may_name_several_hosts_with_ports_or_without(monkeypatch: pytest.MonkeyPatch, hosts: str) -> None:
    for user in ("", "u@", "u:p:@w@"):
        dsn = f"postgresql://{user}{hosts}/d"
        monkeypatch.setenv("PURSER_DSN", dsn)
        assert load_settings().dsn == dsn


def test_an_unknown_variable_is_refused_with_the_nearest_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PURSER_TEMPORAL_ADRESS", "x")
    with pytest.raises(SettingsError, match="unknown setting 'PURSER_TEMPORAL_ADRESS' in the environment") as refused:
        load_settings()
    assert "Did you mean PURSER_TEMPORAL_ADDRESS?" in refused.value.remedy


def test_an_unknown_key_of_the_file_is_refused_with_the_nearest_name(config: Config) -> None:
    file = config("leese_s = 3")
    with pytest.raises(SettingsError, match="unknown setting 'leese_s' in") as refused:
        load_settings()
    assert str(file) in str(refused.value)
    assert "Did you mean lease_s?" in refused.value.remedy


def test_a_file_that_is_not_toml_is_refused(config: Config) -> None:
    file = config("lease_s = = 3")
    with pytest.raises(SettingsError, match="cannot be read") as refused:
        load_settings()
    assert str(file) in str(refused.value)


@pytest.mark.parametrize(
    ("name", "form", "bad"),
    [
        ("DSN", "postgresql://u:{}@h/d", "mysql://u:{}@h/d"),
        ("DSN", "postgresql://u:{}@h/d", "postgresql://u:{}/x@h/d"),
        ("URL", None, "http://u:{}@h"),
        ("URL", None, "u:{}@h"),
        ("PUBLIC_URL", None, "https://u:{}@h"),
        ("ALLOWED_API_BASES", None, "u:{}@h"),
        ("API_KEY", "{}", "{} "),
        ("TEMPORAL_API_KEY", "{}", "{} "),
        ("METRICS_TOKEN", "{}", "{} "),
        ("PROVIDER_KEYS", '{{"h": "{}"}}', "{}"),
        ("PROVIDER_KEYS", '{{"h": "{}"}}', '{{"h": "{} "}}'),
        ("PROVIDER_PROXY", "http://u:{}@h:3128", "u:{}@h:3128"),
    ],
)
def test_no_secret_is_repeated(monkeypatch: pytest.MonkeyPatch, name: str, form: str | None, bad: str) -> None:
    secret = "s3cr3t"
    if form is not None:
        monkeypatch.setenv(f"PURSER_{name}", form.format(secret))
        assert secret not in repr(load_settings())

    monkeypatch.setenv(f"PURSER_{name}", bad.format(secret))
    monkeypatch.setenv("PURSER_LEASE_S", "0")
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert secret not in f"{refused.value} {refused.value.remedy}"


@pytest.mark.parametrize("spell", [str.upper, str.lower])
@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("DSN", "postgresql://u:s3cr3t@h/d", lambda settings: settings.dsn),
        ("METRICS_TOKEN", "s3cr3t", lambda settings: settings.metrics_token.get_secret_value()),
        ("TEMPORAL_API_KEY", "s3cr3t", lambda settings: settings.temporal_api_key.get_secret_value()),
        ("API_KEY", "s3cr3t", lambda settings: settings.api_key.get_secret_value()),
        ("PROVIDER_KEYS", '{"h": "s3cr3t"}', lambda settings: json.dumps(_plain(settings.provider_keys))),
    ],
)
def test_a_secret_may_be_in_a_file(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    value: str,
    read: Callable[[Settings], str],
    spell: Callable[[str], str],
) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{value}\n")
    monkeypatch.setenv(spell(f"PURSER_{name}_FILE"), str(file))
    settings = load_settings()
    assert read(settings) == value
    assert settings.source(name.lower()) == f"file {str(file)!r}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("DSN", None, "PURSER_DSN_FILE: '{file}' cannot be read: No such file or directory"),
        ("DSN", b" \n", "PURSER_DSN_FILE: '{file}' is empty"),
        ("DSN", b"\xff\xfe", "PURSER_DSN_FILE: '{file}' cannot be read: it is not UTF-8"),
        ("DSN", b"mysql://u:s3cr3t@h/d", "dsn (PURSER_DSN, from the file '{file}'): a DSN looks like postgresql://"),
        ("PROVIDER_KEYS", b"s3cr3t", "PURSER_PROVIDER_KEYS (from the file '{file}') is not valid JSON"),
    ],
)
def test_a_secret_that_cannot_be_read_is_refused_with_its_file_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv(f"PURSER_{name}_FILE", str(file))
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert message.format(file=file) in str(refused.value)
    assert "s3cr3t" not in f"{refused.value} {refused.value.remedy}"
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("PURSER_DSN", "PURSER_DSN_FILE"),
        ("PURSER_DSN", "purser_dsn_file"),
        ("PURSER_LEASE_S", "purser_lease_s"),
        ("PURSER_AGENT_LIMIT_TOKENS", "PURSER_TOKEN_BUDGET_PER_AGENT"),
    ],
)
def test_a_setting_under_two_names_is_refused(monkeypatch: pytest.MonkeyPatch, one: str, other: str) -> None:
    monkeypatch.setenv(one, "1")
    monkeypatch.setenv(other, "2")
    with pytest.raises(SettingsError, match=f"{one} and {other} are both set"):
        load_settings()


def test_a_setting_under_two_names_of_the_file_is_refused(config: Config) -> None:
    file = config("token_budget_per_agent = 1\nagent_limit_tokens = 1")
    with pytest.raises(SettingsError, match="agent_limit_tokens and token_budget_per_agent are both set in") as refused:
        load_settings()
    assert str(file) in str(refused.value)


def test_a_setting_under_another_name_goes_before_a_lower_layer(
    monkeypatch: pytest.MonkeyPatch, config: Config
) -> None:
    config("agent_limit_tokens = 1")
    monkeypatch.setenv("PURSER_AGENT_LIMIT_TOKENS", "")
    monkeypatch.setenv("PURSER_TOKEN_BUDGET_PER_AGENT", "2")
    assert load_settings().agent_limit_tokens == 2


def test_only_secrets_are_read_from_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PURSER_LEASE_S_FILE", "x")
    with pytest.raises(SettingsError, match="unknown setting 'PURSER_LEASE_S_FILE'"):
        load_settings()


def _plain(keys: dict[str, SecretStr]) -> dict[str, str]:
    return {host: key.get_secret_value() for host, key in keys.items()}


def test_the_ledger_gets_limits_by_kind_and_their_sources(monkeypatch: pytest.MonkeyPatch, config: Config) -> None:
    config("task_limit_tokens = 7")
    monkeypatch.setenv("PURSER_MODE", "hard")
    ledger = ledger_settings(load_settings(lease_s=9))
    limits = {kind: policy.limit_tokens for kind, policy in ledger.defaults.items()}
    assert limits == {
        Kind.TENANT: None,
        Kind.USER: None,
        Kind.TAG: None,
        Kind.MODEL: None,
        Kind.TOOL: None,
        Kind.SESSION: 200_000,
        Kind.TASK: 7,
        Kind.AGENT: 50_000,
    }
    assert {policy.mode for policy in ledger.defaults.values()} == {Mode.HARD}
    assert ledger.lease_s == 9
    assert dict(ledger.sources) == {"task.limit_tokens": "file"} | {f"{kind}.mode": "environment" for kind in Kind}


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8787"),
        ("0.0.0.0", "http://127.0.0.1:8787"),
        ("::", "http://[::1]:8787"),
        ("gateway.internal", "http://gateway.internal:8787"),
    ],
)
def test_links_begin_with_an_address_that_can_be_reached(host: str, url: str) -> None:
    assert Settings(gateway_host=host, gateway_port=8787).gateway_url == url


def test_the_reference_page_is_current(request: pytest.FixtureRequest) -> None:
    page = (request.config.rootpath / PAGE).read_text(encoding="utf-8")
    assert page == render(), "run `python -m purser.compose.settings.reference`"


def test_every_setting_is_documented() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []

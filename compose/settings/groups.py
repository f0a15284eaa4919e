"""All settings except limits, grouped by subject. The docstring under a field is its documentation."""

from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from purser.activities.pacing.pace import Pace
from purser.budget.policies.fields import DEFAULT_BACKPRESSURE, DEFAULT_LEARNED_HOLDS, DEFAULT_WARN_AT, Mode, OnExpiry
from purser.budget.postgres.ledger.settings import DEFAULT_LIMITS
from purser.budget.scopes import Kind
from purser.compose.settings.directories import default_data_dir
from purser.compose.settings.values import CommaList, Name, Port, Ratio, Seconds, Tokens
from purser.context.compression.requests import DROP, KEEP
from purser.context.figures import Count, Header, Order, Positive, PresetName, RoundsBySize, Rule
from purser.context.strategies import Part, StrategyName
from purser.context.strategies.choice import Preference
from purser.context.strategies.settings import ROUNDS_BY_SIZE
from purser.wire.limits import MAX_CALL_NANO_USD, MAX_CALL_TOKENS, MAX_LEASE_MS


class Group(BaseSettings):
    """Base class of all groups."""

    model_config = SettingsConfigDict(
        env_prefix="PURSER_",
        env_prefix_target="all",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
        # Only `Settings`, which has the fields of all groups, reads values.
        defer_build=True,
    )


class ProcessSettings(Group):
    """Processes: data, addresses, shutdown, logs."""

    data_dir: Path = Field(default_factory=default_data_dir)
    """Directory of the embedded Postgres and Temporal. Default: `/var/tmp/purser-0` as root, else
    `$XDG_DATA_HOME/purser`."""
    dsn: str | None = Field(None, repr=False)
    """DSN of Postgres, as `postgresql://user:password@host:port/database`. Without it `purser up` starts an embedded
    server. Add `?pgbouncer=true` to connect through a pooler in transaction mode."""
    url: str | None = None
    """URL of a running gateway, for commands that call it. Default: that of the last `purser up`."""
    api_key: SecretStr | None = None
    """API key for that gateway."""
    gateway_host: Name = "127.0.0.1"
    """Address that the gateway listens on."""
    gateway_port: Port = 8787
    """Port of the gateway; 0 takes any free one."""
    gateway_processes: int = Field(1, ge=1, le=64)
    """Processes of `purser gateway` that share its port: one for each core that it may use."""
    dashboard: bool = True
    """Whether the gateway serves the dashboard."""
    metrics_host: Name = "127.0.0.1"
    """Address that `/metrics` listens on."""
    metrics_port: Port = 9464
    """Port of `/metrics`; 0 takes any free one."""
    worker_metrics_port: Port = 9465
    """Port of `/metrics` of a `purser worker`; 0 takes any free one."""
    metrics_token: SecretStr | None = None
    """Bearer token of `/metrics`, required unless it listens on loopback."""
    bench_data: Path | None = None
    """Folder of the conversations that `purser bench` uses."""
    shutdown_grace_s: Seconds = 45
    """Seconds after a stop signal for calls of a worker, and requests and streams of a gateway, to finish. A model call
    that is cut off has been paid for."""
    drain_s: int = Field(0, ge=0, le=600)
    """Seconds after a stop signal for which a gateway still accepts requests while `/readyz` answers 503, so that load
    balancers notice."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged."""
    log_format: Literal["console", "json"] = "console"
    """Format of log lines; they go to stderr."""


class Access(Group):
    """Browser sessions."""

    browser_session_s: Seconds = 43_200
    """Seconds after which a browser has to sign in again."""
    secure_cookies: bool = False
    """Let browsers send the session cookie over https only, even if the gateway itself is reached over http: for a
    proxy that terminates TLS and does not set `X-Forwarded-Proto`."""


class WebhookSettings(Group):
    """Webhooks and the retention of events."""

    secrets_key: SecretStr | None = None
    """Keys that encrypt stored secrets of webhooks: 32 random bytes each in base64, comma-separated. The first
    encrypts, all decrypt. `purser up` creates one in its data directory; elsewhere no webhook can be created without
    it."""
    webhook_targets: CommaList = ()
    """URL prefixes that webhooks may use, as `https://host[:port][/prefix]`, comma-separated; without any, no webhook
    can be created."""
    public_url: str | None = None
    """Public URL of the dashboard, for links. Default: the gateway's address on its own machine; sign-in links then
    lead to where they were asked for."""
    events_retention_days: int = Field(90, ge=1, le=36_500)
    """Days after which events and finished deliveries are deleted."""


class Temporal(Group):
    """Temporal: connection, task queues, tools, worker versions."""

    temporal_address: Name | None = None
    """`host:port` of a Temporal frontend. Without it `purser up` starts an embedded dev server."""
    temporal_namespace: Name = "default"
    """Namespace of all workflows."""
    temporal_ui: bool = False
    """Whether `purser up` starts the Web UI of its embedded Temporal. The UI requires no sign-in: every local user, and
    possibly a web page in your browser, can then signal and terminate workflows."""
    temporal_ui_url: str | None = None
    """URL of Temporal's Web UI, for links from the dashboard. Default: that of the embedded server, if it runs."""
    temporal_tls: bool = False
    """Connect with TLS. Implied by any other `temporal_tls_*` setting and by `temporal_api_key`."""
    temporal_tls_client_cert: Path | None = None
    """PEM file with the client certificate, for mTLS."""
    temporal_tls_client_key: Path | None = None
    """PEM file with the client's private key, for mTLS."""
    temporal_tls_server_ca: Path | None = None
    """PEM file with the CA certificate that signed the server's certificate, if the system does not trust it."""
    temporal_api_key: SecretStr | None = None
    """API key of Temporal Cloud."""
    task_queue: Name = "purser"
    """Task queue of workflows and activities."""
    tool_activities: CommaList = ("tool_*",)
    """Activities that a task may name as tools, comma-separated; a trailing `*` matches any name with that prefix."""
    tool_task_queues: CommaList = ("tools-*",)
    """Task queues that a task may name for its tools in addition to `task_queue`, in the same form."""
    worker_deployment: str | None = None
    """Name of the deployment that a versioned worker belongs to. Without it and `worker_build_id`, workers are not
    versioned."""
    worker_build_id: str | None = None
    """Build id of that worker, new for each release. A task stays on the version on which it began."""


class Ledger(Group):
    """The ledger: default policies, holds, approvals."""

    session_limit_tokens: Tokens = DEFAULT_LIMITS[Kind.SESSION]
    """Default token limit of a session."""
    task_limit_tokens: Tokens = DEFAULT_LIMITS[Kind.TASK]
    """Default token limit of a task."""
    agent_limit_tokens: Tokens = Field(
        DEFAULT_LIMITS[Kind.AGENT], validation_alias=AliasChoices("agent_limit_tokens", "token_budget_per_agent")
    )
    """Default token limit of an agent of a task."""
    mode: Mode = Mode.SOFT
    """What happens if a request does not fit: `hard` refuses it, `soft` warns and admits it, `approval` asks a
    person."""
    timezone: str = "UTC"
    """IANA time zone of calendar windows."""
    warn_at: tuple[Decimal, ...] = DEFAULT_WARN_AT
    """Ratios of the limit at which a warning event is sent, as a JSON list."""
    backpressure: tuple[tuple[Decimal, int], ...] = tuple((step.ratio, step.delay_ms) for step in DEFAULT_BACKPRESSURE)
    """Delays from given ratios of the limit on, as a JSON list of `[ratio, delay in ms]`."""
    learned_holds: Decimal = Field(DEFAULT_LEARNED_HOLDS, ge=0, lt=1, decimal_places=6)
    """Quantile of the earlier replies of an agent and its model that the hold of a call covers at first; it grows while
    the reply streams. 0: the whole output cap is held."""
    lease_s: int = Field(120, ge=1, le=MAX_LEASE_MS // 1_000)
    """Seconds after which a hold expires unless it is renewed."""
    grace_s: Seconds = 30
    """Seconds past the lease before the sweeper closes an expired hold."""
    budget_idle_s: Seconds = 1_800
    """Seconds after its last entry for which the lifetime budget of a session, task or agent counts in metrics. Ended
    tasks and agents stop counting at once; budgets of tenants and users always count."""
    sweep_every_s: Seconds = 5
    """Seconds between two sweeps for expired holds, grants and approval deadlines."""
    audit_every_s: int = Field(86_400, ge=0, le=31_622_400)
    """Seconds from the end of an audit to the next one that a gateway starts by itself; 0: never."""
    ledger_retention_days: int | None = Field(None, ge=62, le=36_500)
    """Days after which events of the ledger, and holds that have ended, are deleted; balances stay provable. Without it
    they are kept for ever."""
    max_wait_s: Seconds = 600
    """Longest wait in seconds for a shortage that only open holds cause; then the mode decides."""
    approval_deadline_s: Seconds = 1_800
    """Seconds after which an approval request expires."""
    approval_on_expiry: OnExpiry = OnExpiry.DENY
    """What happens to a request that expires: `deny`, or `grant` the shortage."""
    trust_temporal_identity: bool = False
    """Accept decisions through Temporal that are not signed: every client that can signal a workflow then decides under
    any name. For a Temporal that only people you trust can reach."""


class Models(Group):
    """Model providers: access, limits of calls, prices."""

    allowed_api_bases: CommaList = ()
    """URLs that a task may name as `api_base`, comma-separated."""
    allowed_providers: CommaList = ()
    """Model providers, by their LiteLLM names, that may be called at their own address, comma-separated. Default: those
    with a key, in `provider_keys` or in the provider's usual environment variable."""
    provider_proxy: SecretStr | None = Field(None, repr=False)
    """URL of a proxy for all requests to model providers, as `http://user:password@host:port`. Variables such as
    `HTTPS_PROXY` have no effect on them."""
    provider_keys: dict[str, SecretStr] = Field(default_factory=dict, repr=False)
    """Provider key by host, as a JSON object. A key is sent to no other host."""
    provider_pacing: dict[str, Pace] = Field(default_factory=dict)
    """Limits per minute beyond which calls wait, as JSON: `{"openai/gpt-4o": {"rpm": 500, "tpm": 200000}}`."""
    max_parallel_agents: int = Field(8, ge=1, le=1_000)
    """Agents of one task that run at the same time."""
    max_output_tokens: int = Field(4_096, ge=1, le=MAX_CALL_TOKENS // 10)
    """Output cap of a call in tokens if the task sets none; never more than the model supports."""
    min_output_tokens: int = Field(256, ge=1)
    """Smallest output cap in tokens to which a call is reduced if only part of it fits."""
    model_timeout_s: int = Field(900, ge=1, le=1_700)
    """Seconds until a request to a provider counts as failed."""
    max_attempts: int = Field(10, ge=1, le=1_000)
    """Requests to a provider under one hold before the agent fails."""
    price_file: Path | None = None
    """JSON file with prices that override LiteLLM's table, in the same format."""
    unknown_price: Literal["refuse", "ceiling"] = "refuse"
    """How to treat a model without a price on a path with a money limit."""
    unknown_price_ceiling_nano_usd_per_token: int | None = Field(None, ge=0, le=MAX_CALL_NANO_USD)
    """Nano-dollars per token that such a model costs with `unknown_price = "ceiling"`."""


class Context(Group):
    """Context: windows, memory, compression, redaction. Requests and use-case presets override these."""

    context_window_tokens: Positive = 128_000
    """Context window of an unknown model, in tokens."""
    history_token_budget_ratio: Ratio = 0.60
    """Share of a window, after its reserves, that history may fill."""
    output_token_reserve: Tokens = 4_096
    """Tokens of a window reserved for the reply."""
    system_token_reserve: Tokens = Field(
        2_000, validation_alias=AliasChoices("system_token_reserve", "system_prompt_token_estimate")
    )
    """Minimum number of tokens reserved for system prompt and tools."""
    pin_token_budget: Tokens = 8_000
    """Tokens that the pinned messages of one session may take together, with their tool calls and results."""
    memory_token_budget: Tokens = 2_000
    """Tokens that retrieved messages may take of a window of the strategy `hybrid`."""
    memory_across_sessions: bool = False
    """Whether memory also searches other sessions of the session's user."""
    embedding_model: str | None = None
    """Model that embeds messages, so that memory searches by meaning too; without one it searches by words."""
    embedding_api_base: str | None = None
    """URL of that model if it is not its provider's own."""
    embedding_dimensions: int | None = Field(None, ge=1, le=16_000)
    """Length of its vectors, for models that support several. After a change of model or length all messages are
    embedded again."""
    embedding_timeout_s: Seconds = 5
    """Seconds that a search waits for vectors; then it searches by words only."""
    router_history_token_budget: Tokens = 8_000
    """Context budget in tokens of a plain-text history, as routers use it."""
    compression_trigger_ratio: Ratio = Field(
        0.75, validation_alias=AliasChoices("compression_trigger_ratio", "summarization_trigger_ratio")
    )
    """Share of the context budget at which history is compressed; 1.0 never compresses."""
    compress_sessions: bool = True
    """Whether sessions that are used over HTTP are compressed by themselves once an append passes the trigger."""
    compression_target_ratio: Ratio = Field(
        0.375, validation_alias=AliasChoices("compression_target_ratio", "summarization_target_ratio")
    )
    """Share of the context budget that remains after a compression."""
    summarizer: str = Field("extractive", validation_alias=AliasChoices("summarizer", "summarization_model"))
    """What writes summaries: `extractive` (no model), `none`, or the name of a model."""
    summarizer_api_base: str | None = None
    """URL of that model if it is not its provider's own."""
    summarizer_timeout_s: Seconds = 60
    """Seconds that it may take to write one summary; never more than the lease of its hold."""
    summary_keep: Rule = KEEP
    """What a model that writes summaries must keep."""
    summary_drop: Rule = DROP
    """What it may leave out."""
    compression_cooldown_s: Seconds = 600
    """Seconds for which a summarizer is not called for a conversation after three failures in a row."""
    redaction_patterns: dict[str, str] = Field(default_factory=dict)
    """Additional regular expressions to redact, by label, as a JSON object such as `{"EMPLOYEE": "E\\d{6}"}`; a match
    becomes `[EMPLOYEE_1]`."""
    context_preset: PresetName | None = None
    """Preset of windows of tasks that name none."""
    strategy: StrategyName = StrategyName.HYBRID
    """Strategy of windows."""
    preference: Preference = Preference.BALANCED
    """What the strategy `auto` optimizes for: `fast`, `balanced` or `quality`."""
    default_model: str | None = None
    """Model of agents that name none, if neither session nor user names one."""
    max_context_tokens: Positive | None = None
    """Upper bound of the context budget in tokens."""
    primers_count: Count = 3
    """Number of first messages of a conversation that stay verbatim."""
    recents_count: Count = 20
    """Number of last messages of a conversation that stay verbatim."""
    recents_only: bool = False
    """Whether a window above its trigger shows no messages older than these, even if no summary covers them."""
    batch_count: Positive = 1
    """Messages that a compression covers at a time."""
    rounds: Positive = 10
    """Newest rounds that `sliding_window` shows."""
    rounds_by_size: RoundsBySize = ROUNDS_BY_SIZE
    """Rounds that `smart_truncation` shows, as a JSON list of `[minimum messages, rounds]`."""
    summary_by_rounds: bool = False
    """Whether a summary covers all before these rounds instead of before `recents_count` messages."""
    min_messages: Count = 0
    """Messages of a conversation below which it is neither cut nor compressed if it fits."""
    keep_ratio: Ratio = 1.0
    """Share of the context budget that a window above its trigger may fill."""
    reply_reserve: Count = 0
    """Tokens of the context budget that count as used when the trigger is evaluated."""
    keeps_first_request: bool = True
    """Whether the first user message stays verbatim."""
    window_order: Order = tuple(Part)
    """Order of the parts of a window, as a JSON list."""
    summary_ratio: Ratio = 0.25
    """Tokens by which a summary may grow, as a share of the messages that it newly covers."""
    summary_min_tokens: Positive = 100
    """Tokens that a summary may have in any case."""
    summary_max_tokens: Positive | None = Field(
        None, validation_alias=AliasChoices("summary_max_tokens", "summarization_max_tokens")
    )
    """Upper bound of a summary in tokens. Default: what the target leaves."""
    summary_header: Header | None = None
    """Line above a summary instead of the usual one, which states range and lengths."""
    history_window_messages: Positive = Field(
        50, validation_alias=AliasChoices("history_window_messages", "history_window_size")
    )
    """Number of verbatim messages in a window above which older ones are compressed."""

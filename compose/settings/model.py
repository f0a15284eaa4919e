"""All settings as one frozen value, and the validation that goes beyond the type of one field."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import PrivateAttr, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from purser.activities.models.names import check_model_name
from purser.budget.policies.policy import PolicyPatch
from purser.budget.texts import parts_of
from purser.budget.windows import zone
from purser.compose.settings.groups import (
    Access,
    Context,
    Group,
    Ledger,
    Models,
    ProcessSettings,
    Temporal,
    WebhookSettings,
)
from purser.compose.settings.limits import Limits
from purser.context.errors import InvalidSettings
from purser.gateway.access.loopback import is_loopback
from purser.wire.addresses import base_address, check_address, is_address

GROUPS: tuple[type[Group], ...] = (ProcessSettings, Access, Limits, WebhookSettings, Temporal, Ledger, Models, Context)

_ORDERED = (
    ("min_output_tokens", "max_output_tokens"),
    ("streams_per_key", "streams_per_tenant"),
    ("call_bytes_per_key", "call_bytes_per_tenant"),
    ("session_reads_per_key", "session_reads_per_tenant"),
    ("provider_line_bytes", "provider_reply_bytes"),
)
"""Settings of which the first never applies if it is above the second."""


class Settings(ProcessSettings, Access, Limits, WebhookSettings, Temporal, Ledger, Models, Context):
    """Settings of one process. The constructor takes values only; `load_settings` reads the environment and files."""

    _sources: Mapping[str, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)

    def source(self, name: str) -> str:
        """Source of a value: `command line`, `environment`, `file` or `default`."""
        return self._sources.get(name, "default")

    def with_sources(self, sources: Mapping[str, str]) -> Self:
        """Record the source of every value that is not a default; returns the settings."""
        self._sources = dict(sources)
        return self

    @property
    def secrets_keys(self) -> tuple[str, ...]:
        """Keys that encrypt stored secrets; the first one encrypts."""
        return tuple(parts_of(self.secrets_key.get_secret_value())) if self.secrets_key else ()

    @field_validator("secrets_key")
    @classmethod
    def _encrypts(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None:
            return value
        from purser.gateway.access.sealing import fernet

        for key in value.get_secret_value().split(","):
            try:
                fernet(key)
            except ValueError:
                raise ValueError("each key is 32 bytes in base64: make one with `openssl rand -base64 32`") from None
        return value

    @property
    def gateway_url(self) -> str:
        """URL of the gateway for clients of this machine: a wildcard is an address to listen on, not one to reach."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.gateway_host, self.gateway_host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.gateway_port}"

    @property
    def uses_tls(self) -> bool:
        """Whether Temporal is reached over TLS."""
        files = (self.temporal_tls_client_cert, self.temporal_tls_client_key, self.temporal_tls_server_ca)
        return self.temporal_tls or self.temporal_api_key is not None or any(files)

    @field_validator("temporal_tls_client_cert", "temporal_tls_client_key", "temporal_tls_server_ca", "price_file")
    @classmethod
    def _file_exists(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_file():
            raise ValueError(f"there is no file {str(value)!r}")
        return value

    @field_validator("dsn")
    @classmethod
    def _postgres(cls, value: str | None) -> str | None:
        if value is None:
            return value
        # The value may hold a password: it is not repeated.
        if (authority := re.match("postgres(?:ql)?://([^/?#]*)", value, re.IGNORECASE)) is None:
            raise ValueError("a DSN looks like postgresql://user:password@host:5432/database")
        hosts = authority[1].rpartition("@")[2].split(",")
        ports = filter(None, (host.rpartition("]")[2].partition(":")[2] for host in hosts))
        if not all(port.isdecimal() and 0 < int(port) < 65_536 for port in ports):
            raise ValueError("its port is no number up to 65535; in a password, write / as %2F, ? as %3F, # as %23")
        return value

    @field_validator("allowed_api_bases", "embedding_api_base", "summarizer_api_base")
    @classmethod
    def _addresses(cls, value: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
        for address in (value,) if isinstance(value, str) else value or ():
            check_address(address, "https://api.example.com/v1")
        return value

    @field_validator("provider_proxy")
    @classmethod
    def _proxy(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not is_address(value.get_secret_value()):
            # The value may hold a password: it is not repeated.
            raise ValueError("a proxy looks like http://user:password@host:port")
        return value

    @field_validator("allowed_providers")
    @classmethod
    def _known_providers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            return value
        from purser.activities.models.egress.routes import PROVIDERS

        if unknown := [name for name in value if name not in PROVIDERS]:
            raise ValueError(f"{unknown[0]!r} is not supported: use some of {', '.join(sorted(PROVIDERS))}")
        return value

    @field_validator("summarizer", "embedding_model", "default_model")
    @classmethod
    def _model_name(cls, value: str | None) -> str | None:
        return None if value is None else check_model_name(value)

    @field_validator("url", "public_url", "temporal_ui_url")
    @classmethod
    def _page(cls, value: str | None) -> str | None:
        return None if value is None else base_address(value, "https://purser.example.com")

    @field_validator("api_key", "metrics_token", "temporal_api_key", "provider_keys")
    @classmethod
    def _fit_headers(cls, value: SecretStr | dict[str, SecretStr] | None) -> SecretStr | dict[str, SecretStr] | None:
        keys = value.values() if isinstance(value, dict) else filter(None, (value,))
        if not all(re.fullmatch("[!-~]+", key.get_secret_value()) for key in keys):
            raise ValueError("use printable ASCII characters only, without spaces and line breaks")
        return value

    @field_validator("webhook_targets")
    @classmethod
    def _targets(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value:
            from purser.gateway.webhooks.targets import Targets

            Targets(value)
        return value

    @field_validator("timezone")
    @classmethod
    def _zone_exists(cls, value: str) -> str:
        return zone(value).key

    @field_validator("redaction_patterns")
    @classmethod
    def _detectors(cls, value: dict[str, str]) -> dict[str, str]:
        if not value:
            return value
        # It loads tables of phone numbers, for which most commands need not wait.
        from purser.context.redaction import custom_detectors

        try:
            custom_detectors(value)
        except InvalidSettings as error:
            raise ValueError(str(error)) from None
        return value

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        PolicyPatch.parse({"warn_at": self.warn_at, "backpressure": self.backpressure})
        if (self.temporal_tls_client_cert is None) != (self.temporal_tls_client_key is None):
            raise ValueError("temporal_tls_client_cert and temporal_tls_client_key go together: set both or none")
        if (self.worker_deployment is None) != (self.worker_build_id is None):
            raise ValueError("worker_deployment and worker_build_id go together: set both or none")
        if self.compression_target_ratio >= self.compression_trigger_ratio:
            raise ValueError("compression_target_ratio must be below compression_trigger_ratio")
        for low, high in _ORDERED:
            if getattr(self, low) > getattr(self, high):
                raise ValueError(f"{low} must not be above {high}")
        if self.unknown_price == "ceiling" and self.unknown_price_ceiling_nano_usd_per_token is None:
            raise ValueError("unknown_price = 'ceiling' needs unknown_price_ceiling_nano_usd_per_token")
        if self.metrics_token is None and not is_loopback(self.metrics_host):
            raise ValueError(f"metrics_host {self.metrics_host!r} is not a loopback address: set metrics_token too")
        return self

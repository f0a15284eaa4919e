"""The dashboard: live pages for the people on call, in the gateway's own process."""

import importlib
from typing import TYPE_CHECKING

from fastapi import FastAPI

if TYPE_CHECKING:
    from purser.gateway.services import Services


def load() -> None:
    """Loads the page library ahead of `mount`, which takes a second that a start need not wait for."""
    importlib.import_module("nicegui")


def mount(app: FastAPI, services: "Services", temporal_ui: str | None) -> None:
    """Shows the pages beside the API.

    Args:
        app: the gateway's application; its other routes go first.
        services: what pages read and change.
        temporal_ui: address of Temporal's Web UI, for links to workflows; `None`: no links.
    """
    # NiceGUI takes a second to load, which a gateway without pages need not wait for.
    from purser.gateway.dashboard.mounting import mount_pages

    mount_pages(app, services, temporal_ui)

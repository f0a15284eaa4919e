"""Mounts the dashboard in the gateway's application."""

from fastapi import FastAPI

from purser.gateway.dashboard import pages
from purser.gateway.dashboard.serving import routes
from purser.gateway.dashboard.serving.asset_files import asset_routes
from purser.gateway.dashboard.serving.open_pages import OpenPages
from purser.gateway.dashboard.visit import Dashboard
from purser.gateway.services import Services


def mount(app: FastAPI, services: Services, temporal_ui: str | None) -> OpenPages:
    """Serves the pages next to the API.

    Args:
        app: the gateway's application; its other routes take precedence.
        services: stores, clients and settings that pages use.
        temporal_ui: URL of Temporal's Web UI, for links to workflows; `None`: no links.

    Returns:
        The open pages: close them before the gateway stops.
    """
    pages.load_pages()
    dashboard = app.state.dashboard = Dashboard(services, temporal_ui)
    app.router.routes += [*pages.router.routes, *routes.router.routes, *asset_routes(), routes.MissingPage()]
    return dashboard.pages

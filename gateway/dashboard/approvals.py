"""The first page: what waits for a person."""

from gateway.dashboard.markup import LOADING
from gateway.dashboard.pages import page
from gateway.dashboard.region import Region
from gateway.dashboard.visit import Visit


@page("/", "Approvals")
@page("/approvals", "Approvals")
async def approvals(visit: Visit) -> None:
    Region(LOADING)

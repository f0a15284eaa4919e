"""Static files of the pages. Their URLs change with their content: browsers cache them and never mix versions."""

import hashlib
from pathlib import Path

from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).parent.parent / "assets"


def _version() -> str:
    files = sorted(file for file in FOLDER.rglob("*") if file.is_file())
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


ASSETS_AT = f"/_purser/assets/{_version()}"


class _Files(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        answer.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return answer


async def _favicon(_: Request) -> Response:
    return FileResponse(FOLDER / "favicon.svg")


def asset_routes() -> list[BaseRoute]:
    """Routes of the static files."""
    return [
        Mount(ASSETS_AT, GZipMiddleware(_Files(directory=FOLDER)), name="assets"),
        Route("/favicon.ico", _favicon),
    ]

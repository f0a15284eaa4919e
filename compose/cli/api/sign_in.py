"""`purser sign-in`."""

import typer

from purser.compose.cli.output import DataOption, JsonOption, out, print_answer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="sign-in")(sign_in)


def sign_in(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Print a link that signs a browser in to the dashboard with the key of this command: once, within 10 minutes."""
    from purser.compose.cli.api.client import gateway

    with gateway(data) as api:
        link = api.post("/v1/sign-in-links")
    print_answer(link, lambda made: out.print(made["url"], markup=False), as_json=as_json)

"""How the parts are put together: settings, entry points, the embedded stack, the CLI."""

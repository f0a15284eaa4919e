"""Composition of the service: settings, processes, the embedded stack, migrations, the CLI."""

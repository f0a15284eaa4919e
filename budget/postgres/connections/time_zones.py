"""Time zones that Postgres does not know: its data may be older than that of Python."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from purser.budget.errors import InvalidPolicy


@contextmanager
def known_zones() -> Iterator[None]:
    """Maps the error of Postgres about a time zone, which names it, to `InvalidPolicy`."""
    try:
        yield
    except asyncpg.InvalidParameterValueError as error:
        raise InvalidPolicy(f"timezone is not valid, Postgres does not know it: {error}") from error

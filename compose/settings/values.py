"""Types that several settings share."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import NoDecode

from purser.budget.texts import parts_of

Port = Annotated[int, Field(ge=0, le=65_535)]
Seconds = Annotated[int, Field(ge=1, le=31 * 24 * 3600)]
Tokens = Annotated[int, Field(ge=0, le=2**53 - 1)]
Ratio = Annotated[float, Field(gt=0, le=1)]


def _one_word(value: str) -> str:
    if not value or any(map(str.isspace, value)):
        raise ValueError("use at least one character, and no spaces")
    return value


Name = Annotated[str, AfterValidator(_one_word)]
"""A host, an address or a name: an empty host would mean all addresses of the machine."""


def _split(value: Any) -> Any:
    return parts_of(value) if isinstance(value, str) else value


CommaList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""Texts: a list in the file, `a,b,c` in the environment."""

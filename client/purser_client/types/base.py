"""Base class of the parts of a task file."""

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """A part of a task file. Fields that are not set are not sent; the gateway checks what needs its rules."""

    model_config = ConfigDict(extra="forbid", frozen=True)

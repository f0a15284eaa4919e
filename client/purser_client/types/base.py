"""Base classes of the types of the HTTP API."""

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """Base class of request bodies. Fields that are not set are not sent."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, use_attribute_docstrings=True)


class Answer(BaseModel):
    """Base class of answers. Fields that a newer gateway adds are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True, use_attribute_docstrings=True)

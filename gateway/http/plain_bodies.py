"""Decodes JSON bodies by the rules of a model, and many times as fast.

The rules are read from the model. A body that is not plain is left to the model, which explains what is wrong with it.
"""

import re
from collections.abc import Callable
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

import msgspec
from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import AfterValidator, BaseModel
from pydantic.fields import FieldInfo

from purser.gateway.http.bodies import MAX_BODY, MAX_DEPTH

_decode, _encode = msgspec.json.decode, msgspec.json.encode
_UNUSUAL = re.compile(rb"\\u00(?:00|22)")
"""NUL, the only text that msgspec decodes and Postgres cannot store; and an escape that stands for a quote, with which
`_names_once` would count wrongly."""
_KEPT = {"_storable"}
"""Rules of models that hold for every body that is decoded here."""
_LIMITS = {Ge: "ge", Le: "le", MinLen: "min_length", MaxLen: "max_length"}

Check = Callable[[Any], Any]


class PlainBodies:
    """Decodes the bodies of one model."""

    def __init__(self, model: type[BaseModel]) -> None:
        """Args:
        model: its fields may have bounds, functions that check them, and defaults.
        """
        self._decoder = msgspec.json.Decoder(_struct(model))
        self._may_nest = _may_nest(model)

    def decode(self, body: bytes) -> Any:
        """The fields of a body as attributes; `None` if the model has to judge it."""
        if len(body) > MAX_BODY or _UNUSUAL.search(body):
            return None
        # Each level has a bracket: few brackets are not nested deeply.
        if self._may_nest and body.count(b"{") + body.count(b"[") > MAX_DEPTH:
            return None
        try:
            decoded = self._decoder.decode(body)
            return decoded if _names_once(body) else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None


def _names_once(body: bytes) -> bool:
    """Whether no name occurs twice in one object: msgspec keeps the last, and encodes no quotes for the others."""
    return _encode(_decode(body)).count(b'"') == body.count(b'"')


def _struct(model: type[BaseModel]) -> type[msgspec.Struct]:
    """A class with the fields of a model, as msgspec states them."""
    rules = model.__pydantic_decorators__
    if rules.field_validators or rules.model_validators.keys() - _KEPT:
        raise TypeError(f"{model.__name__} has rules that cannot be applied directly")
    checks: dict[str, list[Check]] = {name: [] for name in model.model_fields}
    fields = [
        (name, _plain(Annotated[field.annotation, field], checks[name]), _default(field))
        for name, field in model.model_fields.items()
    ]
    checked = [(name, check) for name, found in checks.items() for check in found]

    def check_all(self: object) -> None:
        for name, check in checked:
            value = getattr(self, name)
            if value is not None and check(value) is not value:
                raise ValueError(f"{name} is changed by its model")

    namespace = {"__post_init__": check_all} if checked else {}
    return msgspec.defstruct(
        model.__name__, fields, namespace=namespace, frozen=True, kw_only=True, forbid_unknown_fields=True
    )


def _default(field: FieldInfo) -> Any:
    if field.is_required():
        return msgspec.field()
    if field.default_factory is None:
        return msgspec.field(default=field.default)
    return msgspec.field(default_factory=cast(Callable[[], Any], field.default_factory))


def _plain(annotation: Any, checks: list[Check]) -> Any:
    """A type as msgspec states it; functions that check its value are added to `checks`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        limits: dict[str, Any] = dict(_limits(arguments[1:], checks))
        inner = _plain(arguments[0], checks)
        return Annotated[inner, msgspec.Meta(**limits)] if limits else inner
    if origin in (Union, UnionType):
        return reduce(or_, [_plain(one, checks) for one in arguments])
    if origin in (list, dict):
        of_items: list[Check] = []
        items = tuple(_plain(one, of_items) for one in arguments)
        if not of_items:
            return origin[items]
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _struct(annotation)
    elif annotation in (bool, int, str, NoneType, Any):
        return annotation
    raise TypeError(f"{annotation!r} is no type that can be read directly")


def _limits(rules: tuple[Any, ...], checks: list[Check]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for rule in rules:
        if isinstance(rule, FieldInfo):
            found += _limits(tuple(rule.metadata), checks)
        elif isinstance(rule, AfterValidator):
            checks.append(cast(Check, rule.func))
        elif name := _LIMITS.get(type(rule)):
            found.append((name, getattr(rule, name)))
        else:
            raise TypeError(f"{rule!r} is no rule that can be applied directly")
    return found


def _may_nest(annotation: Any) -> bool:
    """Whether values of a type may be nested at will."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return any(_may_nest(field.annotation) for field in annotation.model_fields.values())
    return annotation is Any or any(map(_may_nest, get_args(annotation)))

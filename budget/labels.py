"""Labels: tags, and the names of the model and the tool that a call uses.

A label is a scope outside the path. A call draws on it, all or nothing with its path, where a policy exists for it,
stored or by a template. Usage can be reported by tag, model and tool in any case.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from purser.budget.errors import InvalidRequest, InvalidScope
from purser.budget.scopes import LABELS, Kind, Path, Scope
from purser.wire.limits import MAX_TAGS

_NOT_IN_MODELS = re.compile(r"[^A-Za-z0-9._~:/-]|(?<![^/])\.\.?(?![^/])")


def tags_of(tags: Mapping[str, str]) -> tuple[Scope, ...]:
    """The labels of tags by name, ordered by name; raises `InvalidRequest`, naming the tag."""
    if len(tags) > MAX_TAGS:
        raise InvalidRequest(f"{len(tags)} tags are given: at most {MAX_TAGS} are allowed")
    return parse_tags(f"{name}={value}" for name, value in sorted(tags.items()))


def stored_tags(tags: Mapping[str, str]) -> tuple[Scope, ...]:
    """The labels of tags that were accepted before, perhaps by older rules; ordered by name."""
    return tuple(Scope.stored(f"{Kind.TAG}:{name}={value}") for name, value in sorted(tags.items()))


def tag_texts(tags: Mapping[str, str]) -> tuple[str, ...]:
    """Tags by name as `name=value`, ordered by name: the form in which workflows carry them."""
    return tuple(label.id for label in tags_of(tags))


def parse_tags(texts: Iterable[str]) -> tuple[Scope, ...]:
    """The labels of tags that are written `name=value`; raises `InvalidScope`."""
    return tuple(Scope.parse(f"{Kind.TAG}:{text}") for text in texts)


def with_tags_of_key(stated: Mapping[str, str], of_key: Mapping[str, str]) -> dict[str, str]:
    """The tags of a call: those that its key has, and those that its caller states.

    Raises:
        InvalidRequest: they contradict one another, or one is malformed.
    """
    for name, value in of_key.items():
        if stated.get(name, value) != value:
            raise InvalidRequest(
                f"tag {name}={stated[name]} contradicts the key, whose calls are all {name}={value}: leave it out,"
                " or use another key"
            )
    together = {**of_key, **stated}
    tags_of(together)
    return together


def named_tags(labels: Iterable[Scope]) -> dict[str, str]:
    """The tags among labels, by name."""
    return dict(label.id.split("=", 1) for label in labels if label.kind is Kind.TAG)


def model_label(model: str) -> Scope:
    """The label of a model. Characters that a scope cannot have, and parts `.` and `..`, are written `_`."""
    return Scope(Kind.MODEL, _NOT_IN_MODELS.sub("_", model))


def labels_of(path: Path, model: str | None, *others: Scope) -> tuple[Scope, ...]:
    """All labels of a call: the tags of its path, `others`, and that of its model."""
    return *path.tags, *others, *(() if model is None else (model_label(model),))


def tool_label(name: str) -> Scope:
    """The label of a tool."""
    return Scope(Kind.TOOL, name)


def check_labels(labels: Sequence[Scope]) -> None:
    """Raises `InvalidScope` if one of them is no label, or if a tag has two values."""
    if other := next((label for label in labels if label.kind not in LABELS), None):
        raise InvalidScope(f"scope {str(other)!r} is no label: name it in the path")
    if further := next((label for label in labels if label.period), None):
        raise InvalidScope(f"label {str(further)!r} is a further limit: name {further.base}, and its limits join")
    names = {str(label).partition("=")[0] for label in labels}
    if len(names) != len(labels):
        raise InvalidScope("a tag has two values, or a label is named twice: each label is charged once per call")

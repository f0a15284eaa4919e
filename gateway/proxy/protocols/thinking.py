"""A model's reasoning in blocks, which its provider takes back only as it wrote and signed them."""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from purser.wire.storable import is_storable

Block = Mapping[str, Any]
"""`{"type": "thinking", "thinking": TEXT, "signature": …}` or `{"type": "redacted_thinking", "data": …}`."""
_OURS = "purser."
"""What sealed blocks begin with; what other services encrypt does not."""


class ThinkingBlocks:
    """The blocks of one reply, joined from the fragments in which they arrive."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._texts: list[list[str]] = []
        """Parts of the text of each block. Joined at each fragment, a long text would be copied again and again."""

    @property
    def all(self) -> list[Block]:
        """The blocks so far."""
        return [
            {**block, "thinking": "".join(texts)} if block["type"] == "thinking" else block
            for block, texts in zip(self._blocks, self._texts, strict=True)
        ]

    def add(self, fragments: object) -> list[tuple[int, Block]]:
        """Adds fragments as LiteLLM yields them, and returns each with the place of its block.

        A signature ends a block; what is redacted is a block of its own. What is empty or no block is left out.
        """
        found = []
        for fragment in _blocks(fragments):
            if self._blocks and _continues(self._blocks[-1], fragment):
                self._blocks[-1] = {**self._blocks[-1], **fragment}
            elif any(fragment.get(field) for field in ("thinking", "signature", "data")):
                self._blocks.append(fragment)
                self._texts.append([])
            else:
                continue
            self._texts[-1].append(text_of(fragment.get("thinking")))
            found.append((len(self._blocks) - 1, fragment))
        return found


def text_of(thought: object) -> str:
    """A part of a reasoning, which some servers send as something else: that is left out."""
    return thought if isinstance(thought, str) else ""


def has_signed(message: Mapping[str, Any]) -> bool:
    """Whether a message has reasoning that its provider may want back unchanged."""
    return any(map(_is_signed, (*_blocks(message.get("thinking_blocks")), *_blocks(message.get("content")))))


def seal(blocks: Sequence[Block], model: str) -> str | None:
    """The signed blocks of a reply as a text for `unseal`; `None` if there are none."""
    signed = [block for block in blocks if _is_signed(block)]
    content = json.dumps({"model": model, "blocks": signed}).encode()
    return _OURS + base64.b64encode(content).decode() if signed else None


def unseal(sealed: str, model: str) -> list[dict[str, Any]]:
    """The blocks in a text that `seal` made for the same model; none if another model or service made it.

    Raises:
        ValueError: it was changed.
    """
    if not sealed.startswith(_OURS):
        return []
    try:
        found = _Sealed.model_validate_json(base64.b64decode(sealed[len(_OURS) :], validate=True))
    except (binascii.Error, ValidationError):
        raise ValueError("it is not as it was returned") from None
    blocks = [block.model_dump() for block in found.blocks]
    if not is_storable(blocks):
        raise ValueError("it contains NUL")
    return blocks if found.model == model else []


_Signature = Annotated[str, Field(min_length=1)]


class _Thinking(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    type: Literal["thinking"]
    thinking: str
    signature: _Signature


class _Redacted(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    type: Literal["redacted_thinking"]
    data: _Signature


class _Sealed(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    model: str
    blocks: Annotated[list[_Thinking | _Redacted], Field(min_length=1)]


def _blocks(value: object) -> Iterator[Block]:
    for one in value if isinstance(value, list) else ():
        if isinstance(one, Mapping) and one.get("type") in ("thinking", "redacted_thinking"):
            yield one


def _is_signed(block: Block) -> bool:
    return bool(block.get("signature" if block["type"] == "thinking" else "data"))


def _continues(block: Block, fragment: Block) -> bool:
    """Whether a fragment belongs to the block before it. All fragments of Mistral's have the same signature."""
    both = block["type"] == fragment["type"] == "thinking"
    return both and (block.get("signature") or fragment.get("signature")) == fragment.get("signature")

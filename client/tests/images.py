"""An image of 300 KB, and what the model of the tests charges for images."""

import base64
from collections.abc import Iterable
from typing import Any

from doors import MODEL

from purser_client.counting import cautious, input_tokens

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0" + bytes(range(256)) * 1_200
"""640 by 480 pixels."""
BASE64 = base64.b64encode(PNG).decode()
DATA = f"data:image/png;base64,{BASE64}"
ADDRESS = "https://example.org/a.png"
SIZED, UNSIZED = 85 + 170 * 2, 85 + 170 * 8
"""Tokens of this image, and of one of unknown size."""
AROUND = 120
"""The most tokens of what is around the images of a message."""


def cost(messages: Iterable[Any]) -> int:
    """Tokens that are held for messages."""
    return input_tokens(list(messages), [], cautious, MODEL)

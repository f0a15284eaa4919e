"""What of a request is counted."""

from typing import Any

import pytest
from images import ADDRESS, AROUND, PNG, SIZED, UNSIZED, cost
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)

from purser_client.pydantic_ai.counted import messages_of

IMAGE = BinaryContent(PNG, media_type="image/png")
DOCUMENT = BinaryContent(PNG, media_type="application/pdf")


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (UserPromptPart(["What is this?", IMAGE]), SIZED),
        (UserPromptPart(["What is this?", ImageUrl(ADDRESS)]), UNSIZED),
        (UserPromptPart([ImageUrl(ADDRESS, vendor_metadata={"detail": "low"})]), 85),
        (ToolReturnPart("look", {"shots": [IMAGE]}, "call-1"), SIZED),
        (ToolReturnPart("look", IMAGE, "call-1"), SIZED),
        (ToolReturnPart("look", {"type": "image", "data": "A" * 3_000, "mimeType": "image/png"}, "call-1"), 1_500),
        (FilePart(IMAGE), SIZED),
        (UserPromptPart(["What is this?", DOCUMENT]), len(PNG) * 4 // 3 // 2),
    ],
    ids=[
        "image",
        "address",
        "low detail",
        "in a result",
        "as a result",
        "what looks like one",
        "made by the model",
        "document",
    ],
)
def test_an_image_costs_its_size_and_a_document_its_data(part: Any, tokens: int) -> None:
    message = ModelResponse([part]) if isinstance(part, FilePart) else ModelRequest([part])
    assert tokens <= cost(messages_of([message])) <= tokens + AROUND

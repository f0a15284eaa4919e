"""Embeddings without a model: vectors of hashed character n-grams, for texts in any language.

Texts that share spellings have similar vectors, synonyms do not.
"""

import base64
import math
import struct
from collections import Counter
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from purser.compose.demo.provider.tokens import encode
from purser.compose.demo.provider.wire import EmbeddingRequest

DIMENSIONS = 256
"""Length of a vector where the request names none."""
_SIZES = (2, 3, 4)


def embedding(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """The vector of a text, of length 1; equal for equal texts."""
    padded = f" {' '.join(text.lower().split())} "
    grams = Counter(padded[at : at + size] for size in _SIZES for at in range(len(padded) - size + 1))
    vector = [0.0] * dimensions
    for gram, count in grams.items():
        hashed = crc32(gram.encode("utf-8", "surrogatepass"))
        # The sign makes grams that share an index cancel out on average.
        vector[hashed % dimensions] += math.sqrt(count) * (1 if hashed >> 31 else -1)
    length = math.hypot(*vector) or 1.0
    return [value / length for value in vector]


def embedding_tokens(request: EmbeddingRequest) -> list[int]:
    """The tokens of a request's texts, for which it is charged."""
    return [token for text in request.texts for token in encode(text)]


def embedding_list(request: EmbeddingRequest) -> dict[str, Any]:
    """The response body of the protocol, without its usage."""
    vectors = [embedding(text, request.dimensions or DIMENSIONS) for text in request.texts]
    data = [
        {"object": "embedding", "index": index, "embedding": _encoded(vector, request.encoding_format)}
        for index, vector in enumerate(vectors)
    ]
    return {"object": "list", "data": data, "model": request.model}


def _encoded(vector: Sequence[float], encoding_format: str) -> str | list[float]:
    if encoding_format == "base64":
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
    return list(vector)

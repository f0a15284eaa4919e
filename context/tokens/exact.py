"""Exact token counts without network access: by LiteLLM if it is loaded and knows the model, otherwise by tiktoken.

Neither raises: if a library fails, the next counter is used and the failure is logged once.
"""

import logging
import os
import threading
from collections.abc import Collection
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from purser.context.tokens.cache import CountCache
from purser.context.tokens.pieces import pieces
from purser.context.tokens.tokenizers import Vocabulary, tokenizer_of

if TYPE_CHECKING:
    from tiktoken import Encoding

# File names under which tiktoken looks for its vocabularies on disk and LiteLLM ships them.
_FILES: dict[Vocabulary, str] = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}
LITELLM_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # otherwise the import uses the network
    "LITELLM_DISABLE_REDACT_SECRETS": "true",  # otherwise it takes milliseconds a KiB of each error, which no one logs
}
"""Settings that LiteLLM reads when it is imported."""
_LITELLM_EXACT = 1000
"""Characters up to which LiteLLM counts a text whole. It splits longer ones, and each split can be one token off."""
_REMEMBERED = 256
"""Characters from which counts are cached: below, counting is as fast as a lookup."""
_BETWEEN = "<|endoftext|>"
"""A special token of both vocabularies, at which tiktoken splits a text before it looks for other tokens."""
_PROBE = "令和の時代 नमस्ते שלום"
"""A text that each vocabulary splits into a different number of tokens."""

_log = logging.getLogger(__name__)
_cache = CountCache(10_000)


def by_tiktoken(text: str, vocabulary: Vocabulary) -> int | None:
    """Counts tokens with tiktoken, treating special tokens as text; `None` if tiktoken cannot count."""
    encoding = _encoding(vocabulary)
    if encoding is None:
        return None
    try:
        if len(text) < _REMEMBERED:
            return len(encoding.encode_ordinary(text))
        return _cache.count(
            vocabulary, text, lambda text: sum(len(encoding.encode_ordinary(piece)) for piece in pieces(text))
        )
    except Exception as error:
        _failed("tiktoken", type(error).__name__)
        return None


def each_by_tiktoken(texts: Collection[str], vocabulary: Vocabulary) -> dict[str, int | None]:
    """What `by_tiktoken` counts for each text. It counts short texts together: faster, and while other threads run."""
    short = {text: None for text in texts if len(text) < _REMEMBERED and _BETWEEN not in text}
    counts = _together(short, vocabulary)
    return {text: counts[text] if text in counts else by_tiktoken(text, vocabulary) for text in texts}


def by_litellm(text: str, model: str) -> int | None:
    """Counts tokens with LiteLLM; `None` unless it is loaded and uses the same vocabulary for `model`."""
    try:
        return _litellm.count(text, model) if _litellm else None
    except Exception as error:
        _failed("LiteLLM", type(error).__name__)
        return None


def is_loaded(vocabulary: Vocabulary) -> bool:
    """Whether the vocabulary is loaded; loading takes some tenths of a second."""
    return vocabulary in _encodings


def warm_up(*, litellm: bool = False) -> threading.Thread:
    """Starts loading the vocabularies in a thread and returns the thread; counts are correct before it ends.

    Args:
        litellm: also loads LiteLLM (2 to 3 s), which then counts first: for processes that call models anyway.
    """
    thread = threading.Thread(target=_load, args=(litellm,), name="tokenizers", daemon=True)
    thread.start()
    return thread


_encodings: dict[Vocabulary, "Encoding | None"] = {}
_litellm: "_LiteLLM | None" = None
IMPORTING_LITELLM = threading.Lock()
"""Held while LiteLLM is imported: its modules import each other, and a second thread may see one half initialized."""


@lru_cache(maxsize=64)
def _failed(library: str, error: str) -> None:
    """Logs a failure once, without the text of the error, which may repeat the counted text."""
    _log.warning("%s cannot count (%s): the next counter does", library, error)


def _load(with_litellm: bool) -> None:
    global _litellm
    for vocabulary in _FILES:
        _encoding(vocabulary)
    if with_litellm and _litellm is None and find_spec("litellm"):
        try:
            _litellm = _LiteLLM()
        except Exception as error:
            _failed("LiteLLM", type(error).__name__)


def _together(texts: Collection[str], vocabulary: Vocabulary) -> dict[str, int]:
    """Tokens of different texts without `_BETWEEN`; none if tiktoken cannot count one of them."""
    encoding = _encoding(vocabulary)
    if encoding is None or not texts:
        return {}
    try:
        tokens = encoding.encode_to_numpy(_BETWEEN.join(texts), allowed_special={_BETWEEN}, disallowed_special=())
    except Exception:  # such as half of a surrogate pair
        return {}
    ends = [-1, *(tokens == encoding.eot_token).nonzero()[0].tolist(), len(tokens)]
    return {text: end - begin - 1 for text, (begin, end) in zip(texts, pairwise(ends), strict=True)}


def _encoding(vocabulary: Vocabulary) -> "Encoding | None":
    if vocabulary not in _encodings:
        try:
            _encodings[vocabulary] = _open(vocabulary)
        except Exception as error:
            _failed("tiktoken", type(error).__name__)
            _encodings[vocabulary] = None
    return _encodings[vocabulary]


def _open(vocabulary: Vocabulary) -> "Encoding | None":
    folder = next((folder for folder in _folders() if (folder / _FILES[vocabulary]).is_file()), None)
    if folder is None or find_spec("tiktoken") is None:
        return None
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)  # otherwise tiktoken downloads the file
    from tiktoken import get_encoding

    return get_encoding(vocabulary)


def _folders() -> list[Path]:
    litellm = find_spec("litellm")
    shipped = [Path(litellm.origin).parent / "litellm_core_utils" / "tokenizers"] if litellm and litellm.origin else []
    own = os.environ.get("TIKTOKEN_CACHE_DIR")
    return [*shipped, Path(own)] if own else shipped


class _LiteLLM:
    """LiteLLM's counter. It counts unknown models by `cl100k_base`, so its vocabulary is probed first."""

    def __init__(self) -> None:
        os.environ.update(LITELLM_ENVIRONMENT)
        with IMPORTING_LITELLM:
            import litellm

            litellm.disable_hf_tokenizer_download = True
            self._count = litellm.token_counter
            self._table = litellm.model_cost
        self._name = lru_cache(maxsize=1024)(self._find_name)

    def count(self, text: str, model: str) -> int | None:
        name = self._name(model) if len(text) <= _LITELLM_EXACT else None
        return int(self._count(model=name, text=text)) if name else None

    def _find_name(self, model: str) -> str | None:
        """The name, with or without provider, under which LiteLLM counts `model` by the expected vocabulary."""
        expected = by_tiktoken(_PROBE, tokenizer_of(model).vocabulary)
        names = (name for name in (model, model.rpartition("/")[2]) if name in self._table)
        return next((name for name in names if self._count(model=name, text=_PROBE) == expected), None)

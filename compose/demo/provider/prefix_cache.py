"""Prompt caching: the longest known prefix of a prompt, in whole blocks, as providers bill it."""

from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b

BLOCK = 128
"""Tokens in one block."""


class PrefixCache:
    """The prefixes of all prompts of each conversation.

    A block is identified by the digest of everything up to its end, so that a lookup takes time proportional to the
    prompt and not to the history.
    """

    def __init__(self) -> None:
        self._seen: defaultdict[str, set[bytes]] = defaultdict(set)

    def admit(self, conversation: str, tokens: Sequence[int]) -> int:
        """Adds a prompt.

        Returns:
            The tokens of the longest prefix that it shares with an earlier prompt of the conversation, in whole blocks.
        """
        seen = self._seen[conversation]
        digests = _block_digests(tokens)
        known = next((index for index, digest in enumerate(digests) if digest not in seen), len(digests))
        seen.update(digests)
        return known * BLOCK


def _block_digests(tokens: Sequence[int]) -> list[bytes]:
    running = blake2b(digest_size=16)
    digests = []
    for end in range(BLOCK, len(tokens) + 1, BLOCK):
        running.update(repr(tokens[end - BLOCK : end]).encode())
        digests.append(running.digest())
    return digests

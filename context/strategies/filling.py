"""Filling a window: what always stays, and whole groups in the order of a strategy while they fit."""

from collections.abc import Iterable, Set

from context.conversations import Conversation


class Room:
    """Tokens that are left while a window is filled."""

    def __init__(self, tokens: int) -> None:
        self.left = tokens

    def takes(self, tokens: int) -> bool:
        """Whether so many more fit; then they are taken."""
        if fits := tokens <= self.left:
            self.left -= tokens
        return fits


def filled(conversation: Conversation, kept: Set[int], runs: Iterable[Iterable[int]], room: Room) -> set[int]:
    """`kept`, and whole groups besides: of each run, in its order, those up to the first that does not fit."""
    found = set(kept)
    for run in runs:
        for index in run:
            if index not in found:
                if not room.takes(conversation.groups[index].tokens):
                    break
                found.add(index)
    return found


def unmoved(conversation: Conversation) -> set[int]:
    """What always stays: pins, system messages, the first user message, and whatever a result may still join."""
    fixed = {index for index, group in enumerate(conversation.groups) if group.fixed}
    return fixed | set(range(conversation.settled, len(conversation.groups)))

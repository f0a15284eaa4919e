"""Commands that do the same to one or several named objects."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer

from purser.budget.errors import BudgetError
from purser.compose.cli.output import FAILURE, print_json, problem_of
from purser.compose.errors import ComposeError

Answer = Mapping[str, Any]


def do_each(
    name: str, ids: Sequence[str], act: Callable[[str], Answer], show: Callable[[Answer], None], *, as_json: bool
) -> None:
    """Do it to each object, once; of several, one that fails stops no other, and the command fails in the end.

    Args:
        name: field of an answer with the id.
        ids: of the objects.
        act: does it to one, and returns the answer of the gateway.
        show: prints one answer, which has the field `problem` in place of the gateway's if it failed.
        as_json: print one document: the answer, or `items` with those of several.
    """
    answers: list[Answer] = []
    for one in dict.fromkeys(ids):
        try:
            answer = act(one)
        except (ComposeError, BudgetError) as error:
            if len(ids) == 1:
                raise
            answer = {"problem": problem_of(error)}
        answers.append({name: one, **answer})
        if not as_json:
            show(answers[-1])
    if as_json:
        print_json({"items": answers} if len(ids) > 1 else answer)
    if any("problem" in one for one in answers):
        raise typer.Exit(FAILURE)

"""Warnings of the libraries that model calls use. Every command calls this module, so it imports no library."""

import warnings


def quieten_warnings() -> None:
    """Ignores what LiteLLM and pydantic warn of: a line on a terminal, or an error that loses a reply that is paid for.

    `warnings.catch_warnings` in one thread undoes filters that another has added meanwhile, so a process calls this
    before it starts threads.
    """
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="litellm")
    warnings.filterwarnings("ignore", category=UserWarning, module="pydantic")

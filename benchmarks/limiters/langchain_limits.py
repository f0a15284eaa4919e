"""LangChain's `ModelCallLimitMiddleware`, which counts the calls of a thread in its checkpoints.

With room, each call has a thread of its own: a thread that all calls share grows by their messages.
"""

from itertools import count

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain.agents.middleware.model_call_limit import ModelCallLimitExceededError
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from purser.benchmarks.limiters.load import ANSWERED, CAP, MODEL, PROMPT_TEXT, REFUSED, TIGHT, Budget, Call
from purser.benchmarks.limiters.printed import print_figures


async def limited(budget: Budget) -> Call:
    """Calls under a budget."""
    model = ChatOpenAI(model=MODEL, base_url=budget.api_base, api_key="none", max_retries=0, max_tokens=CAP)
    limit = ModelCallLimitMiddleware(thread_limit=budget.calls, exit_behavior="error")
    agent = create_agent(model, middleware=[limit], checkpointer=InMemorySaver())
    numbers = count()

    async def call() -> str:
        thread = budget.name if budget.calls == TIGHT else f"{budget.name}-{next(numbers)}"
        messages = {"messages": [{"role": "user", "content": PROMPT_TEXT}]}
        try:
            await agent.ainvoke(messages, {"configurable": {"thread_id": thread}})
        except ModelCallLimitExceededError:
            return REFUSED
        return ANSWERED

    return call


if __name__ == "__main__":
    print_figures(limited)

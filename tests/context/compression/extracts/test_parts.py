"""Parts of long messages."""

import pytest

from purser.context.compression.extracts.parts import is_announced, parts

ANSWER = """\
# Your trip

Hello! I hope this helps.

**Flight 1**:
- Number: HAT056
- Price: $155.

**Flight 2**
1. Number: HAT138
2. Price: $185

Dear [Your Name],

```python
print("hello")
```

The total is $340. Ronald D. Sugar pays it.

Let me know if you have any questions!
"""


def test_lists_stay_with_the_line_that_introduces_them_and_nothing_idle_is_left() -> None:
    assert list(parts(ANSWER)) == [
        "Flight 1: Number: HAT056; Price: $155",
        "Flight 2: Number: HAT138; Price: $185",
        "The total is $340.",
        "Ronald D. Sugar pays it.",
    ]


def test_each_part_of_a_long_list_begins_with_the_line_that_introduces_it() -> None:
    items = "\n".join(f"- Take the {number} keys of room {number}00 along" for number in range(1, 30))
    found = list(parts(f"What to take:\n{items}"))
    assert len(found) > 2
    assert all(part.startswith("What to take: Take the ") and len(part) <= 300 for part in found)


@pytest.mark.parametrize(
    "text",
    [
        "Let's begin by performing a web search.",
        "I will now verify the address.",
        "I clicked 'Accept'.",
        "I typed 'lamps' into '0 of 2000 characters'.",
        "TERMINATE",
        "To do this, let me search.",
    ],
)
def test_steps_that_an_agent_announces_say_nothing(text: str) -> None:
    assert is_announced(text)


@pytest.mark.parametrize(
    "text",
    ["I will check out on May 5.", "We'll use Postgres.", "I verified the address.", "Let's meet at the harbour."],
)
def test_decisions_numbers_and_outcomes_are_not_announced(text: str) -> None:
    assert not is_announced(text)

"""Quoting of untrusted text: nothing in it reads as a control token or as a system message."""

import re

_CONTROL = re.compile(
    r"<\|[^<>|‹›\n]{1,64}\|>"  # ChatML, Llama 3, Qwen, Phi
    r"|<｜[^<>｜‹›\n]{1,64}｜>"  # DeepSeek
    r"|<<?/?SYS>>?|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|</?s>"  # Llama 2, Mistral
    r"|<(?:start|end)_of_turn>",  # Gemma
    re.IGNORECASE,
)
_SYSTEM_LINE = re.compile(
    r"((?:^|(?<=[\r\v\f\x1c-\x1e\x85\u2028\u2029]))[\s>#*_`|\[(\"'-]*)(system|developer)(?=[\s*_`\])\"']*[:\uff1a])",
    re.IGNORECASE | re.MULTILINE,
)


def quoted(text: str) -> str:
    """Replaces control tokens by plain words in angle quotes and quotes the label of lines that imitate the system.

    `<|im_start|>` becomes `‹im_start›`, a line `SYSTEM: …` becomes `“SYSTEM”: …`. Quoting is idempotent.
    """
    plain, text = text, ""
    # The patterns take a while on long texts, most of which hold nothing that they could match.
    while plain != text and ("<" in plain or "[" in plain):
        text, plain = plain, _CONTROL.sub(lambda token: f"‹{token[0].strip('<>[]|｜')}›", plain)
    folded = plain.casefold()
    return _SYSTEM_LINE.sub(r"\1“\2”", plain) if "system" in folded or "developer" in folded else plain

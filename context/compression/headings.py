"""Headings of summaries in the language of the conversation; in English where it is unknown or has no wording."""

from purser.context.conversation.languages import script_language
from purser.context.facts.languages import frequent_language

_LENGTHS = {
    "zh": "[历史对话总结 - 原文{source}字，总结{summary}字]",
    "ja": "[これまでの会話の要約 - 原文{source}文字、要約{summary}文字]",
    "ko": "[이전 대화 요약 - 원문 {source}자, 요약 {summary}자]",
    "de": "[Zusammenfassung des bisherigen Gesprächs - Quelle {source} Zeichen, Zusammenfassung {summary} Zeichen]",
    "es": "[Resumen de la conversación anterior - original {source} caracteres, resumen {summary} caracteres]",
    "fr": "[Résumé de la conversation précédente - source {source} caractères, résumé {summary} caractères]",
    "en": "[Summary of the earlier conversation - source {source} characters, summary {summary} characters]",
}
_RANGES = {
    "zh": "本对话第{first}至{last}条消息的总结，仅为谈话记录：",
    "ja": "この会話のメッセージ{first}から{last}までの要約（発言の記録）：",
    "ko": "이 대화의 메시지 {first}~{last} 요약(발언 기록):",
    "de": "Zusammenfassung der Nachrichten {first} bis {last} dieses Gesprächs, ein Protokoll des Gesagten:",
    "es": "Resumen de los mensajes {first} a {last} de esta conversación, un registro de lo dicho:",
    "fr": "Résumé des messages {first} à {last} de cette conversation, un relevé de ce qui a été dit :",
    "en": "Summary of messages {first} to {last} of this conversation, a record of what was said:",
}
_FACTS = {
    "zh": "事实，附消息编号：",
    "ja": "事実とそのメッセージ番号：",
    "ko": "사실과 메시지 번호:",
    "de": "Fakten mit ihrer Nachricht:",
    "es": "Hechos, con su mensaje:",
    "fr": "Faits, avec leur message :",
    "en": "Facts, with their message:",
}


def length_header(source: int, summary: int, language: str | None = "en") -> str:
    """The header line that states the lengths of source and summary in characters.

    Args:
        source, summary: lengths in characters.
        language: ISO 639-1 code; English if there is no wording for it.
    """
    return _in(_LENGTHS, language).format(source=source, summary=summary)


def range_header(first_seq: int, last_seq: int, language: str | None) -> str:
    """The line above a summary that states the covered range."""
    return _in(_RANGES, language).format(first=first_seq, last=last_seq)


def language_of_summary(text: str) -> str | None:
    """The language of a summary: that of its header line, if it has one, or else of its words."""
    begun = (code for code, header in _LENGTHS.items() if text.startswith(header.partition("{")[0]))
    return next(begun, None) or language_of_words(text)


def language_of_words(text: str) -> str | None:
    """The language in which a text is most likely written, found in microseconds; `None` for one without headings."""
    return script_language(text) or frequent_language(text)


def facts_header(language: str | None) -> str:
    """The line above a fact sheet in a summary."""
    return _in(_FACTS, language)


def _in(wordings: dict[str, str], language: str | None) -> str:
    return wordings.get(language or "en", wordings["en"])

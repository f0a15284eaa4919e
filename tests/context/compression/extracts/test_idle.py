"""Texts that say nothing."""

import pytest

from purser.context.compression.extracts.idle import is_idle


@pytest.mark.parametrize(
    "text",
    [
        "Hello there!", "Thank you so much!", "You're welcome!", "See you tomorrow!", "Have a nice day!",
        "Is there anything else I can help you with?", "Feel free to ask.", "That sounds great!",
        "Agreed, thanks again.", "You are welcome, is there anything else that I can do?", "It is my pleasure.",
        "I am so sorry to hear that.", "Do not worry, please do not hesitate to ask.",
        "Prima.", "Einverstanden.", "Alles klar, vielen Dank!", "Sehr gut, bis morgen.", "Womit kann ich Ihnen helfen?",
        "Bitte sehr, kann ich sonst noch etwas für Sie tun?",
        "Vale, perfecto.", "¡Muchas gracias!", "De acuerdo, hasta mañana.", "¿En qué más puedo ayudarle?",
        "De nada, ¿puedo hacer algo más por usted?",
        "OK merci.", "Youpi !", "D'accord, merci beaucoup !", "Bien sûr, avec plaisir.", "Comment puis-je vous aider ?",
        "Je vous en prie, y a-t-il autre chose que je puisse faire ?", "De rien, avez-vous besoin d'autre chose ?",
        "好的，谢谢您，再见！", "明天见！", "没关系，真是非常谢谢你！", "好的，知道了，辛苦您了。", "好主意！",
        "不客气，还有什么可以帮您的吗？", "不用客气！", "非常感谢您。", "好的，谢谢你了啊。", "我没有其他问题了。",
        "Thanks, you are a great help!", "You've been so helpful, thank you.", "Thank you! That was a really big help.",
        "You are the best!", "I really appreciate your help.", "Great job, thanks!", "Thanks, I appreciate it.",
        "Olá, bom dia!", "Muito obrigada pela ajuda!", "De nada, até amanhã.", "Está bem, combinado.",
        "Tenha um bom dia!", "Em que posso ajudar?", "Ciao a tutti!", "Grazie mille per l'aiuto!",
        "Prego, a presto.", "Va bene, ho capito.",
        "Perfetto, buona giornata!", "Come posso aiutarla?",
        "ありがとうございます。", "分かりました。お願いします。", "よろしくお願いします。", "かしこまりました。",
        "감사합니다!", "네, 알겠습니다.", "", "🙂🙂", "¡…!",
    ],
)  # fmt: skip
def test_greetings_thanks_consent_and_offers_are_idle(text: str) -> None:
    assert is_idle(text)


@pytest.mark.parametrize(
    "text",
    [
        "Yes", "No.", "Wait, make it Friday.", "Let me know the price.", "Hi, cancel it.", "History", "Tomorrow.",
        "Thanks, but I hate peanuts.", "See you tomorrow at 5", "Nice, France", "No, thanks.",
        "If you have any peanuts in it, I cannot eat it.",
        "Gut, aber ohne Nüsse.", "Prima, dann Freitag.", "Ja.", "Schöne Wohnung", "Bitte nicht löschen.",
        "Nein, danke.",
        "Perfecto, el lunes.", "Vale la pena.", "Sí.", "No, gracias.",
        "Merci, mais sans noix.", "Bien cuit.", "Oui.", "Non merci.",
        "You are the best at chess.", "Thanks, you are a great cook.", "I appreciate the raise.",
        "That was a big mistake.", "Sim.", "Não, obrigado.", "Obrigado, mas sem nozes.", "Bom, na sexta-feira.",
        "Até amanhã às cinco cancele tudo.", "Sì.", "No, grazie.", "Grazie, ma senza noci.",
        "Va bene venerdì.", "Bene, il conto è pagato.", "Mi piace.",
        "好的，改到下午。", "行李", "可以退款吗", "分かりません。", "すみません、金曜日にしてください。", "좋은 호텔",
    ],
)  # fmt: skip
def test_what_says_anything_else_is_not_idle(text: str) -> None:
    assert not is_idle(text)


@pytest.mark.parametrize("phrase", ["thank you! ", "danke! ", "谢谢", "네 "])
def test_a_long_text_is_not_idle_however_often_it_thanks(phrase: str) -> None:
    assert is_idle(phrase * 2)
    assert not is_idle(phrase * 100_000)

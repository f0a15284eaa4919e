"""Words for phones in many languages, before a number or after it."""

import re

from purser.context.redaction.detectors.labelled import has_letter
from purser.context.redaction.findings import TAKEN

# Before a number, and a word by itself.
_WORDS = (
    r"(?:tele|smart|mobile|home|work|cell|office)?[ ]?phones?|tel|mob(?:iles?)?|cell(?:ular)?|ph|fax|hotline|helpline",
    r"sms|landline",
    r"call(?:s(?![ ]?[:=])|ed|ing|back)?|dial(?:s|l?ed|l?ing)?|(?:ring|text|phone)(?:ed|ing)?[ ](?:me|us|him|her|them)",
    r"text(?:[ ]to)?(?=[ ]\Z)|ring[ ](?:p[åa]|til|mi[gj]|meg|oss|os)",
    r"toll[ -]?free",
    r"whats?app|wechat|viber|telegram|signal|messages?(?![ ]?#?\Z)|messaged|answering|reach(?:able|ed)?",
    r"contact(?:ed)?|desk|voicemail|pager|(?:office|reception|büro|bureau|oficina|escrit[óo]rio)(?=:?[ ]{1,2}\Z)",
    r"(?:my|his|her|our|your|their|contact|new|work|home|direct|phone|mobile|cell|emergency)"
    r"(?:[ ](?:new|alternate|alternative|other|second|backup|personal|private|office))?[ ](?:number|no|nr|line)",
    r"telefon\w*|anruf\w*|ruf\w*[ ](?:mich|uns|sie|an)|erreichbar|durchwahl|rückruf\w*|handy\w*|mobil|rufnummer",
    r"mobil(?:funk)?(?:nummer|nr)|fon|natel|wa(?=[ ]?:?[ ]?\Z)",
    r"mobilfunk|festnetz\w*|meine[ ]nummer",
    r"t[ée]l[ée]phone\w*|tél|portable|fixe|appel\w{0,5}(?:[ -](?:moi|nous|le|au))?|joignable|mon[ ]num[ée]ro",
    r"rappel\w{0,4}",
    r"tel[eé]fon\w*|tlfn?|tfno|ll[áa]m[ea]\w*|m[óo]vil|celular|mi[ ]n[úu]mero|cel|fijo|contacto",
    r"telefone|ligue\w*|lig(?:ar|a|ou)|telem[óo]vel|meu[ ]n[úu]mero|fone|zap|contato",
    r"cont[áa]cta\w{0,5}|cellulare|recapito|chiam\w*|mio[ ]numero|telefoonn(?:umme)?r|bel(?:[ ](?:me|mij)|(?=[ ]\Z))",
    r"bellen|bereikbaar|mobiel|gsm",
    r"zadzwo\w*|kom(?:[óo]rk\w*)?|dzwoni\w*|numer[ ](?:telefonu|kontaktowy|kom[óo]rkowy)|m[óo]j[ ]numer",
    r"puhelin\w*|telepon|hubungi|nomor|hp|điện[ ]thoại|sđt",
    r"ara(?:yın)?|cep",
    r"телефон\w*|тел|моб\w*|сотов\w*|звон\w*|позвон\w*|перезвон\w*|мой[ ]номер|факс|ватсап|вотсап",
)
_OTHER_SCRIPTS = (
    "电话(?!会议|号码段|数|销|费)|電話(?!会議)|手机(?!数|销|用户|型号)|手機|座机|座機|热线|熱線|传真|傳真|联系方式|联系|拨打|致电|来电|回电",
    "短信|微信|号码是",
    "携帯|連絡先|ファックス|ファクス|전화(?:번호)?|휴대폰|핸드폰|연락처|연락|팩스",
    "फ़ोन|फोन|मोबाइल|कॉल|नंबर|व्हाट्सएप|संपर्क|هاتف|جوال|اتصل|موبايل|โทร",
)
_NOT_AFTER = (  # a cue: `call sites`, `Telefonkosten`
    "sites?|stacks?|graphs?|centers?|lens(?:es)?|ids?|counts?|duration|volume|logs?|models?|cases?|costs?|plans?",
    "prices?|bills?",
    "book|options?|sheets?|records?|sizes?|bytes?|phases?|hours|hierarchy|depth|rates?|queue|limit|quota|budget",
    "minutes|units?",
    "(?:the|an?|this|that)[ ](?:function|method|tool|api|endpoint|model|service)",
    "sold|sales|users|surface|culture|types?|tree|form|channels?|strength|traffic|network|machines?|data|is[ ]prime",
    "verkäufe|nutzer|verträge|est[ ](?!le|mon)",
)
_NOT_BEFORE = r"(?<!model[ ])(?<!modelo[ ])(?<!modell[ ])(?<!modèle[ ])(?<!модель[ ])"
_COMPOUND = r"(?!\w*(?:kosten|rechnung|tarif|gebühr|vertrag|modell))"
_GAP = rf"[^\d.!?;\n+{TAKEN}]{{0,24}}\n?[ ]{{0,4}}"
_BEFORE = re.compile(
    rf"(?:(?<![^\W\d_]){_NOT_BEFORE}{_COMPOUND}(?:{'|'.join(_WORDS)})(?![^\W\d_])"
    rf"(?![ _-]?(?:{'|'.join(_NOT_AFTER)})(?![A-Za-z0-9_]))|{'|'.join(_OTHER_SCRIPTS)})\.?{_GAP}\Z",
    re.IGNORECASE,
)

# After a number: where or what it is, and then the end of the phrase; or whose number it is.
_PLACES = (
    "office|fax|telefax|home|work|mobile|cell|cellphone|tel|telephone|phone|landline|direct|desk|voicemail|whatsapp",
    "büro|privat|dienstlich|geschäftlich|mobil|handy|telefon|festnetz",
    "bureau|domicile|portable|fixe|maison|travail|oficina|casa|m[óo]vil|celular|trabajo|fijo|tel[ée]fono",
    "telem[óo]vel|telefone|escrit[óo]rio|trabalho|fone|ufficio|cellulare|kantoor|thuis",
    "дом|домашний|рабочий|раб|моб|мобильный|офис|факс|телефон",
)
_END = (
    r"\.?[ ]?(?:[,;:)\]\n|/!?\"'-]|\.(?!\w)|\Z|"
    r"(?:and|or|is|und|oder|ist|et|ou|y|o|e|и|или|only|number|line|please|thanks|after|before|if)(?![^\W\d_]))"
)
_OWNER = "my|our|his|her|the|meine|unsere|seine|ihre|mi|su|mon|son|notre|o[ ]meu|il[ ]mio|мой"
_KIND = "new|best|direct|home|work|cell|mobile|office|phone|contact|private|neue|nouveau|nuevo|novo|nuovo|новый"
_NUMBER = (
    "number|cell|phone|mobile|landline|fax|line|nummer|handynummer|telefonnummer|numéro|n[úu]mero|tel[ée]fono|m[óo]vil|celular"
    "|telefone|telem[óo]vel|numero|portable|номер|телефон"
)
_SENTENCES = (
    rf"(?:(?:which|that|this|it)[ ])?(?:is|ist|es|est|c'est|it's|that's|é|è|это)[ ](?:{_OWNER})"
    rf"[ ](?:(?:{_KIND})[ ]){{0,2}}(?:{_NUMBER})(?![^\W\d_])",
    "(?:是|为)?(?:我|他|她|我们|公司|本人|办公室)?的?(?:新)?(?:电话|電話|手机号?|手機|号码|联系方式|座机|传真|微信)(?!会议|會議|費|费)",
    "(?:まで|に)(?:お)?(?:電話|連絡)|(?:が|は)(?:私|会社)の(?:電話|携帯)|(?:번)?(?:으로|로)[ ](?:전화|연락)",
    "पर[ ](?:कॉल|फ़ोन|फोन|संपर्क)",
)
_AFTER = re.compile(
    rf"[ ]?[-,(:/|\[]?[ ]?(?:(?:{'|'.join(_PLACES)})(?={_END})|{'|'.join(_SENTENCES)})",
    re.IGNORECASE,
)
_INVITATION = re.compile(
    r"[^.\n\d]{0,40}(?<![^\W_])(?:call|ring|text|phone)[ ](?:me|us|him|her|them|there)(?![^\W_])", re.IGNORECASE
)
_LOOK_BACK = 60


def has_cue(view: str, start: int, end: int) -> bool:
    """Whether a word for phones is just before a number, or just after it: `call 555 0142`, `555 0142 (office)`."""
    before = max(0, start - _LOOK_BACK)
    if (has_letter(view, before, start) and _BEFORE.search(view, before, start)) or _AFTER.match(view, end):
        return True
    return not view[start:end].isdigit() and bool(_INVITATION.match(view, end))

"""Detectors of PINs, security codes of cards, one-time codes and recovery codes, by the words around them."""

import re
from collections.abc import Iterator

from purser.context.redaction.detectors.labelled import OF, found_in
from purser.context.redaction.findings import Found

_IS = (
    r"(?:[ ]?[:=]|[ ](?:is|ist|lautet|es|est|è|é|jest|to|är|er|adalah|là|это)(?:[ ](?:now|jetzt|ahora|maintenant))?:?"
    r"|[ ]?(?:是|为|為|は|[는은이가]))[ ]?"
)
_END = r"(?![A-Za-z0-9_]|[-.:/]\d|,\d{3}(?!\d))"

# --- PINs and security codes of cards --------------------------------------------------------------------------------

_CARD_CODE = re.compile(
    rf"""(?<![A-Za-z0-9_])(?:
      (?P<pin>(?:pin(?P<postal>[ -]?code)?(?:[ -]?(?:number|nummer|nr\.?))?|geheimzahl|пин(?:-?код)?|PIN码|暗証番号))
        ["']?{OF}{_IS}
      |(?:cvv|cvc)2?(?:[ -]?(?:code|number|nummer))?["']?(?:{_IS}|[ ]?)
      |(?:(?:card[ ])?(?:security|verification)[ ](?:code|value|number)|(?:karten)?prüf(?:nummer|ziffer)|sicherheitscode
        |c[óo]digo[ ]de[ ]seguridad|c[óo]digo[ ]de[ ]segurança|code[ ]de[ ]sécurité|codice[ ]di[ ]sicurezza
        |cryptogramme(?:[ ]visuel)?|安全码|セキュリティコード)["']?{OF}(?:{_IS}|[ ])
    )["']?(?P<value>\d{{3,8}}+){_END}""",
    re.VERBOSE | re.IGNORECASE,
)

# --- one-time codes --------------------------------------------------------------------------------------------------

_ONE_TIME_WORDS = (
    r"(?:verification|confirmation|one[ -]time|security|authentication|access|activation|sms|2fa|mfa|otp|two[ -]factor"
    r"|(?:log|sign)[ -]?in)[ ](?:pass)?code|passcode|one[ -]time[ ](?:password|pin)|otp",
    r"(?:einmal|(?:bestätigung|verifizierung|verifikation|aktivierung|authentifizierung|sicherheit|zugang)s|freischalt"
    r"|anmelde)-?(?:code|passwort|pin)",
    r"(?:code|c[óo]digo|codice)[ ](?:d[ei][ ]|d')(?:v[ée]rif|valid|confirm|conferm|s[ée]cur|segur|sicur|auth?ent|acc"
    r"|aces|activ|ativ|attiv|conn?ex)\w{1,12}",
    r"code[ ]à[ ]usage[ ]unique|c[óo]digo[ ]de[ ](?:un[ ]solo[ ]uso|uso[ ][úu]nico)",
    r"(?:verificatie|bevestigings|beveiligings|toegangs|inlog)-?code",
    r"kod[ ](?:weryfikac|potwierdz|autoryz|jednoraz|dostęp|bezpiecz)\w{1,10}",
    r"(?:verifierings|bekräftelse|säkerhets|engångs|engangs|bekreftelses|bekræftelses|sikkerhets|sikkerheds)kode?n?",
    r"код[ ](?:подтвержд|доступ|проверк|активац|безопасн|авториз)\w{1,6}|одноразовый[ ](?:код|пароль)",
    r"(?:doğrulama|onay|güvenlik|giriş)[ ]kodu\w{0,5}",
    r"kode[ ](?:verifikasi|konfirmasi|otp)|mã[ ](?:xác[ ](?:minh|nhận|thực)|otp)",
    "验证码|驗證碼|校验码|动态码|确认码|認証コード|確認コード|認証番号|ワンタイムパスワード",
    "인증[ ]?(?:번호|코드)|확인[ ]?코드",
)
_ONE_TIME = rf"(?:{'|'.join(_ONE_TIME_WORDS)})"
_DIGITS = rf"(?P<value>\d{{3,4}}[ -]\d{{3,4}}|\d{{4,8}}+){_END}"
_YOUR = r"(?:your|ihr|dein|votre|ton|su|tu|seu|o[ ]seu|il[ ]tuo|uw|je|ваш)[ ](?:[^\W\d_][\w.&-]{0,24}[ ]){0,3}"
_AFTER_WORD = re.compile(
    rf"(?<![A-Za-z])(?:{_ONE_TIME}{OF}(?:{_IS}|[ ]?)|(?P<your>{_YOUR}(?:code|código|codice|код){_IS}))"
    rf"[\[(\"'「【]?(?:[A-Z]-)?(?<!\d){_DIGITS}"
    r"(?![ ]?(?:digits?|characters?|minutes?|stellig\w*|zeichen|chiffres|位|桁|자리|分))",
    re.IGNORECASE,
)
"""A code after its word: `Your verification code is 483920`."""
_BEFORE_WORD = re.compile(
    rf"(?<![A-Za-z0-9_.,:/#])(?:[A-Z]-)?(?<!\d){_DIGITS}"
    rf"(?:[ ](?:is|ist|est|es|é|è|-)[ ](?:{_YOUR})?(?:{_ONE_TIME}|code|código|codice)(?![^\W\d_])"
    rf"|[ ]?[(（,，]?(?:是|为)?(?:您|你)?的?[^\s\d]{{0,8}}?(?:验证码|驗證碼|校验码|动态码))",
    re.IGNORECASE,
)
"""A code before its word: `483920 is your code`."""
_TO_ENTER = re.compile(
    rf"(?<![^\W_])(?:use|enter|type)[ ](?:(?:the[ ]|this[ ])?code[ ])?{_DIGITS}"
    r"(?=[ ]to[ ](?:verify|confirm|log[ ]in|sign[ ]in|activate)(?![^\W\d_]))",
    re.IGNORECASE,
)
"""A code that is to be entered: `use 483920 to verify your account`."""
_END_OF_PHRASE = re.compile(
    r"[ ]?(?:[^\w\s]|\Z|\n|(?:do|don't|and|it|to|for|if|et|und|y|e|и)(?![^\W\d_]))", re.IGNORECASE
)

# --- recovery codes --------------------------------------------------------------------------------------------------

_RECOVERY = re.compile(
    rf"(?<![A-Za-z])(?:recovery|backup|wiederherstellungs)[ -]?code{OF}(?:{_IS}|[ ])"
    r"[\"']?(?P<value>(?=[a-z-]{0,40}\d)(?:[a-z0-9]{4,12}(?>(?:-[a-z0-9]{3,12}){1,7})|[a-z0-9]{8,32}))(?![\w-])",
    re.IGNORECASE,
)
SIGNS_OF_CODES = (
    "pin", "geheimzahl", "пин", "cvv", "cvc", "暗証番号", "prüf", "cryptogramme", "安全码", "セキュリティコード",
    "code", "otp", "código", "codigo", "codice", "one-time", "one time", "passwort", "kod", "код", "одноразовый", "mã",
    "验证码", "驗證碼", "校验码", "动态码", "确认码", "コード", "番号", "ワンタイムパスワード", "인증", "확인",
    "security", "verification", " to verify", " to confirm", " to log in", " to sign in", " to activate",
)  # fmt: skip
"""Signs of words for codes."""


def find_codes(view: str) -> Iterator[Found]:
    """Finds PINs, security codes of cards, one-time and recovery codes. A pin code may be postal."""
    for match in _CARD_CODE.finditer(view):
        least, most = (4, 5 if match["postal"] else 8) if match["pin"] else (3, 4)
        if least <= len(match["value"]) <= most:
            yield found_in(match, "value", "SECRET")
    for match in _AFTER_WORD.finditer(view):
        # A program has a code too: `your code is 1200 lines long`.
        if not match["your"] or _END_OF_PHRASE.match(view, match.end()):
            yield found_in(match, "value", "SECRET")
    for pattern in (_BEFORE_WORD, _TO_ENTER, _RECOVERY):
        for match in pattern.finditer(view):
            yield found_in(match, "value", "SECRET")

"""Detector of passwords and secrets, by the label before them."""

import re
from collections.abc import Iterator

from purser.context.redaction.detectors.labelled import (
    OF,
    bare,
    found_in,
    is_call,
    is_dotted_name,
    is_template,
    labelled,
)
from purser.context.redaction.findings import TAKEN, Found

SECRET_LABEL = r"""(?=[achjklmpsşwκпסكपร密口秘暗パ비패암])
    (?:(?:password|passwd|passphrase|passcode|pwd|secret(?:[ _-]?(?:key(?:[ _-]base)?|token|value|code))?)\d?
    |密码|密碼|口令|密钥|秘钥|暗号|パスワード|비밀번호|패스워드|암호|비번|contrase[ñn]a|mot[ ]de[ ]passe
    |passwort|kennwort|senha|palavra-passe|пароль|wachtwoord|has[łl]o
    |l[öo]senord|adgangskode|passord|salasana|heslo|jelsz[óo]|[şs]ifre(?:m|niz)?|पासवर्ड|كلمة[ ](?:ال)?(?:مرور|سر)
    |סיסמ[הא]|κωδικός|รหัสผ่าน|mật[ ]khẩu|kata[ ]sandi)"""
"""Its first letters, looked for first, save half of the time."""
_SECRET = labelled(SECRET_LABEL)
_BELOW = re.compile(
    rf"(?:{SECRET_LABEL})[ ]?:[ ]?(?:[|>][+-]?)?\n[ ]{{0,8}}(?P<value>[^\s\"'`<>|]{{6,64}}+)(?=[ ]?(?:\n|\Z))",
    re.VERBOSE | re.IGNORECASE,
)
"""A value that has the line below its label to itself."""
_CELL = re.compile(
    rf"\|[ ]{{0,20}}[*_`]{{0,3}}(?:[^\W_][\w.-]{{0,24}}[ _-])?(?:{SECRET_LABEL})[:*_`]{{0,4}}[ ]{{0,20}}\|"
    r"[ ]{0,20}`?(?P<value>[^\s\"'`<>|]{1,64}+)(?=`?[ ]{0,20}\|)",
    re.VERBOSE | re.IGNORECASE,
)
"""A value in the cell of a table beside its label."""
_SHORT = labelled(
    r"""(?<![A-Za-z0-9])(?:(?:db|my|pg|sql|user|root|admin|ssh|ftp|smtp|mail|ldap|bind|auth|vpn|wifi|wlan|key|store)?pass
      |(?:wlan|netzwerk)-?schlüssel|(?:wi-?fi|wlan|wpa2?|network)[ -](?:security[ ])?(?:key|code)
      |pw|pswd|passw|clave|parol[aă](?:[ ]d'ordine)?|pasw|mdp|psw)"""
)
"""Labels that also are words: a value must look like a password."""
LABELS_OF_SECRETS = (
    "pass", "phrase", "mnemonic", "pw", "secret", "密", "秘钥", "口令", "暗号", "パスワード", "비밀번호", "패스워드",
    "암호", "contrase",
    "kennwort", "senha", "haslo", "losenord", "ifre",
    "пароль", "wachtwoord", "hasło", "lösenord", "ş", "पासवर्ड", "كلمة", "mật", "kata",
    "비번", "palavra", "adgangskode", "salasana", "heslo", "jelsz", "סיסמ", "κωδικ", "รหัส",
    "pswd", "masterauth", "schlüssel", "wifi", "wi-fi", "wlan", "wpa", "network",
    "clave", "parol", "pasw", "mdp", "psw",
)  # fmt: skip
"""Signs of labels of passwords and secrets."""
_ABBREVIATED = re.compile(
    r"(?<![\w./-])(?:(?:passwd|pswd|psw|pwd|pw|mdp|requirepass|masterauth|rootpw)|(?P<word>passwor[dt]|passphrase"
    rf"|kennwort|contraseñ?a|mot[ ]de[ ]passe|senha|wachtwoord|has[łl]o|пароль){OF})"
    r"[ ](?P<value>[^\s\"'`,;&|<>/()]{6,64}+)(?![/(&|])"
    r"|(?:密码|密碼|パスワード|비밀번호)[ ](?P<foreign>[!-~]{6,64}+)(?!\S)",
    re.IGNORECASE,
)
"""Labels with nothing but a space: `pwd hunter22!`."""
_PHRASE = re.compile(
    rf"(?<![^\W_])(?:passphrase|(?:seed|recovery|secret|wallet)[ -]phrase|mnemonic(?:[ ]phrase)?){OF}"
    r"[\"']?[ ]?(?::|=|is)[ ]?[\"']?(?P<value>[a-z]{3,12}(?>(?:[ -][a-z]{3,12}){3,23}))(?=[\"'.]?[ ]{0,3}(?:\n|\Z))",
)
"""A phrase of four words or more that has the rest of the line to itself."""
_PROSE = re.compile(
    r"(?<![a-z])(?:the|you|your|for|and|not|must|with|this|that|are|was|has|have|will|should|can|from)(?![a-z])"
)
_NO_LABEL = re.compile(
    r"(?:boarding|season|ski|bus|day|train|test|tests|first|second|third|last|next|one|each|every|per|forward|backward|render|shader"
    r"|mountain|palabra|en)[ _-]\Z",
    re.IGNORECASE,
)
_CJK = r"[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_COUNTED = re.compile(rf"\d{{1,3}}{_CJK}")
_TAG = re.compile(r"![A-Za-z][\w:.]*\Z")
"""A tag of YAML, such as in `password: !secret wifi`."""
_RANGE = re.compile(r"\d{1,2}-\d{1,3}\Z")
_WORD = re.compile(r"[^\W\d_]+\Z|[A-Z][a-z]+(?>(?:[_-][A-Z][a-z]+)+)\Z")
"""A word, or several with capital letters, as names in code do not have them."""
_STRONG = re.compile(r"[\d!@#$%^*+=~]|(?<=[A-Za-z])\?(?=[A-Za-z])")
_SIGNED = re.compile(r"(?=.*[A-Za-z])(?=.*\d).*[!@#$%^*~]|(?=.{8})(?=.*[a-z])(?=.*[A-Z]).*\d")
_MEASURE = re.compile(
    r"[\d.,:/%+-]+[A-Za-z]{0,4}\Z|[vV]?\d+(?:\.\d+)*\Z|\d+/\d+"
    r"|\d+[+-]?(?i:char|digit|letter|symbol|bit|byte|day|hour|minute|zeichen|stellig)[a-z-]*\Z"
    r"|(?i:sha|aes|utf|base|rsa|pbkdf|argon|hs|rs)-?\d{1,4}[a-z-]*\Z"
)
"""Measures, and names of algorithms and encodings."""
_MIXED = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)|(?=.*[A-Za-z]).*[!@#$%^]")
"""What a type or a rule in a table is not."""
_TYPE = re.compile(
    r"(?:(?:n?var)?char|(?:var)?binary|u?int|string|text|bytes?|[bs]crypt|min|max|iso|rfc)\d", re.IGNORECASE
)
"""A type or a rule of letters and digits, such as `varchar255`."""
_NO_SECRET_WORDS = """
    none null nil true false undefined str string bytes text bool boolean int integer number object value type empty
    required optional unknown invalid incorrect wrong correct missing changed reset expired hidden redacted masked yes
    not unset default example placeholder management authentication protected accepted rejected denied failed success
    valid verified enabled disabled
"""
NO_SECRET = frozenset(_NO_SECRET_WORDS.split())
"""Words that stand where a secret may."""
_SELF_NAMED = re.compile(r"pass|pwd|secret|token|key|密码|密钥", re.IGNORECASE)


def find_secrets(view: str) -> Iterator[Found]:
    """Finds labelled passwords and secrets in English, Chinese and other languages, but neither prose nor code."""
    for match in _SECRET.finditer(view):
        if match["quote"]:
            if _is_quoted_secret(match["quoted"]):
                yield found_in(match, "quoted", "SECRET")
        elif (match["loose"] or match["later"] or match["remark"]) and not looks_chosen(bare(match)):
            continue
        elif _is_bare_secret(value := bare(match), match["sep"], alone=not match["rest"]):
            yield Found(match.start("value"), match.start("value") + len(value), "SECRET", value)
    for match in _BELOW.finditer(view):
        if looks_chosen(match["value"]) and not _is_described(match["value"]):
            yield found_in(match, "value", "SECRET")
    for match in _PHRASE.finditer(view):
        if not _PROSE.search(match["value"]):
            yield found_in(match, "value", "SECRET")
    for match in _CELL.finditer(view):
        if is_secret_of_cell(match["value"]):
            yield found_in(match, "value", "SECRET")
    for match in _SHORT.finditer(view):
        group, value = ("quoted", match["quoted"]) if match["quote"] else ("value", bare(match))
        named = not _NO_LABEL.search(view, max(0, match.start() - 16), match.start())
        if named and looks_chosen(value) and len(value) >= 5 and not (is_template(value) or is_call(value)):
            yield Found(match.start(group), match.start(group) + len(value), "SECRET", value)
    for match in _ABBREVIATED.finditer(view):
        group = "foreign" if match["foreign"] else "value"
        value = match[group].rstrip(".:?)]}")
        # After a whole word, what is no secret may also have a digit: `password SHA256`.
        bracketed = view[match.start() - 1 : match.start()] == "(" and view[match.end() : match.end() + 1] == ")"
        chosen = looks_chosen(value) and (not match["word"] or bracketed or _SIGNED.search(value))
        if chosen and not (is_template(value) or is_call(value) or is_dotted_name(value)):
            yield Found(match.start(group), match.start(group) + len(value), "SECRET", value)


def looks_chosen(value: str) -> bool:
    """Whether a value has letters and also digits or signs, and is no measure such as `12ms`."""
    return bool(_STRONG.search(value)) and any(map(str.isalpha, value)) and not _MEASURE.match(value)


def is_secret_of_cell(value: str) -> bool:
    """Whether a value in a table looks chosen, and is neither a type, nor a rule, nor code."""
    if len(value) < 8 or _is_described(value):
        return False
    letters_and_digits = value.isascii() and value.isalnum() and looks_chosen(value)
    return (letters_and_digits and not _TYPE.match(value)) or bool(_MIXED.match(value))


def _is_described(value: str) -> bool:
    """Whether a value below or beside a label is code, the next label or what the label stands for."""
    return value.endswith(":") or is_template(value) or is_call(value) or bool(_SELF_NAMED.search(value))


def _is_quoted_secret(value: str) -> bool:
    if not value.strip(TAKEN + " ") or is_template(value) or value.lower() in NO_SECRET:
        return False
    return bool(_STRONG.search(value)) or not _SELF_NAMED.search(value)


def _is_bare_secret(value: str, sep: str, *, alone: bool) -> bool:
    """Args:
    value: text after the label, up to a space.
    sep: separator between label and value.
    alone: whether nothing else follows on the line.
    """
    assigned = "=" in sep and sep != "="
    if not value.strip(TAKEN) or is_template(value) or is_call(value) or (assigned and is_dotted_name(value)):
        return False
    if _TAG.match(value) and not alone:
        return False
    if _STRONG.search(value.rstrip("!")):
        return len(value) >= 4 and not _COUNTED.search(value) and not _RANGE.match(value)
    # A plain word is a secret only where label and word have a line to themselves: `password: swordfish`.
    is_labelled = ":" in sep or sep in ("=", ">")
    words = re.split("[_-]", value.lower())
    is_word = _WORD.match(value) and value.isascii() and NO_SECRET.isdisjoint(words)
    return bool(is_labelled and alone and is_word and len(value) >= 6 and not _SELF_NAMED.search(value))

"""Detector of passwords and secrets: by the label before them, and by their place in a URL or a command."""

import re
from collections.abc import Iterator

from purser.context.redaction.detectors.labelled import bare, found_in, is_call, is_dotted_name, is_template, labelled
from purser.context.redaction.findings import TAKEN, Found

# --- by label --------------------------------------------------------------------------------------------------------

SECRET_LABEL = r"""(?=[achjklmpsşwκпסكपร密口秘暗パ비패암])
    (?:(?:password|passwd|passphrase|passcode|pwd|secret(?:[ _-]?(?:key|token|value|code))?)\d?
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
    "pass", "pw", "secret", "密", "秘钥", "口令", "暗号", "パスワード", "비밀번호", "패스워드", "암호", "contrase",
    "kennwort", "senha", "haslo", "losenord", "ifre",
    "пароль", "wachtwoord", "hasło", "lösenord", "ş", "पासवर्ड", "كلمة", "mật", "kata",
    "비번", "palavra", "adgangskode", "salasana", "heslo", "jelsz", "סיסמ", "κωδικ", "รหัส",
    "pswd", "masterauth", "schlüssel", "wifi", "wi-fi", "wlan", "wpa", "network",
    "clave", "parol", "pasw", "mdp", "psw",
)  # fmt: skip
"""Signs of labels of passwords and secrets."""
_ABBREVIATED = re.compile(
    r"(?<![\w./-])(?:(?:passwd|pswd|psw|pwd|pw|mdp|requirepass|masterauth|rootpw)|(?P<word>passwor[dt]|passphrase|kennwort))"
    r"[ ](?P<value>[^\s\"'`,;&|<>/()]{6,64}+)(?![/(&|])"
    r"|(?:密码|密碼|パスワード|비밀번호)[ ](?P<foreign>[!-~]{6,64}+)(?!\S)",
    re.IGNORECASE,
)
"""Labels with nothing but a space: `pwd hunter22!`."""
_CODE = re.compile(
    r"""(?<![A-Za-z0-9_])(?:
      (?:pin(?P<postal>[ -]?code)?(?:[ -]?(?:number|nummer|nr\.?))?|PIN码|暗証番号)["']?
        [ ]?(?:[:=]|(?:is|ist|lautet|es|est|è|é)(?:[ ](?:now|jetzt|ahora|maintenant))?[ ]|是|为|は)[ ]?
      |(?:cvv|cvc)2?(?:[ -]?(?:code|number|nummer))?["']?[ ]?(?:[:=]|(?:is|ist|lautet|es|est|è|é)[ ]|是|为|は)?[ ]?
      |(?:(?:card[ ])?(?:security|verification)[ ](?:code|value|number)|(?:karten)?prüf(?:nummer|ziffer)|sicherheitscode
        |código[ ]de[ ]seguridad|code[ ]de[ ]sécurité|cryptogramme(?:[ ]visuel)?|安全码|セキュリティコード)["']?
        [ ]?(?:[:=]|(?:is|ist|lautet|es|est|è|é)[ ]|是|为|は)[ ]?
    )["']?(?P<value>\d{3,8}+)(?![A-Za-z0-9_]|[-.,:/]\d)""",
    re.VERBOSE | re.IGNORECASE,
)
"""PINs of four to eight digits, and security codes of cards."""
SIGNS_OF_CODES = (
    "pin", "cvv", "cvc", "暗証番号", "security", "verification", "prüf", "sicherheitscode", "seguridad", "sécurité",
    "cryptogramme", "安全码", "セキュリティコード",
)  # fmt: skip
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
_WORD = re.compile(r"[^\W\d_]+\Z")
_STRONG = re.compile(r"[\d!@#$%^*+=~]")
_SIGNED = re.compile(r"(?=.*[A-Za-z])(?=.*\d).*[!@#$%^*~]")
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
_NO_SECRET = frozenset(_NO_SECRET_WORDS.split())
_SELF_NAMED = re.compile(r"pass|pwd|secret|token|key|密码|密钥", re.IGNORECASE)

# --- by place --------------------------------------------------------------------------------------------------------

_URL_PASSWORD = re.compile(r"://[^\s/:@\"'<>\\]{0,100}:(?P<value>[^\s/\"'<>\\@]++(?>(?:@[^\s/\"'<>\\@]++(?=@))*))@")
_USER_PASSWORD = re.compile(
    r"(?<![\w.:/@-])(?P<user>[A-Za-z_][\w.-]{0,63}):(?P<value>[^\s:/@\"'<>\\,;=]{3,}+)@"
    r"(?P<host>localhost|[A-Za-z0-9][\w.-]{0,200})(?P<path>:\d|/\w)?"
)
_NO_USER_WORDS = """
    mailto mail email e-mail to from cc bcc contact address sender recipient reply-to user username login account id
    name by author sip sips xmpp skype acct jid imap smtp at or me write send courriel correo mel
"""
_NO_USER = frozenset(_NO_USER_WORDS.split())


def _option(commands: str, letters: str) -> str:
    """A pattern for the value of an option of commands."""
    return (
        rf"(?<![\w-])(?:{commands})(?=[ ])[^\n|;]{{0,200}}?[ ]-[{letters}][ ][\"']?"
        r"(?P<value>[^\s\"'-][^\s\"']{2,}+)"
    )


# Each with signs of which it needs one: looking for these takes far less time.
_COMMANDS = tuple(
    (signs, re.compile(pattern, re.VERBOSE))
    for signs, pattern in (
        # curl -u user:password
        (
            ("-u", "-U", "-a"),
            r"""(?<![\w-])(?:-u|-U|--user|--proxy-user|--auth|-a)[ =]{0,2}
            (?:(?P<quote>["'])(?=[^"'\n]{1,200}(?P=quote)))?
            ["']?(?P<user>[^\s:"'/]{1,64}):(?P<value>(?(quote)[^"'\n]++|[^\s"']++))""",
        ),
        # mysql -ppassword
        (
            (" -p",),
            r"""(?<![\w-])(?:mysql\w{0,10}|mariadb[\w-]{0,10}|sshpass|7z|rar|unrar|mongo\w{0,8})(?=[ ])[^\n|;]{0,200}?
            [ ]-p(?P<quote>["']?)(?P<value>[^\s"'-][^\s"']*+)""",
        ),
        # sshpass -p password, docker login -p password, redis-cli -a password
        ((" -p", " -a", " -P"), _option(r"sshpass|(?:docker|podman)[ ]login|mongo\w{0,8}|redis-cli|sqlcmd", "paP")),
        # az login -p password, zip -P password, ldapsearch -w password, openssl enc -k password
        ((" -p",), _option("(?:az|helm|oc|skopeo|buildah|nerdctl|registry)[ ]login", "p")),
        ((" -P",), _option("(?:un)?zip", "P")),
        ((" -w",), _option(r"ldap\w{3,10}", "w")),
        ((" -k",), _option("openssl[ ]enc", "k")),
        # echo 'user:password' | chpasswd
        (
            ("chpasswd",),
            r"""echo[ ](?:-n[ ])?["']?(?P<user>[\w.-]{1,32}):(?P<value>[^\s"'|]{3,}+)["']?
            [ ]?\|[ ]?(?:sudo[ ])?chpasswd""",
        ),
        # --password password
        (
            ("pass", "pwd", "secret"),
            r"""(?<![\w-])--?[\w-]{0,20}(?:password|passwd|passphrase|pass|pwd|secret)[ ]["']?
            (?P<value>[^\s"'-][^\s"']{3,}+)""",
        ),
        # machine host login user password password (.netrc)
        (("login",), r"""(?<![\w-])login\s{1,4}[^\s]{1,64}\s{1,4}password\s{1,4}(?P<value>[^\s"']{3,}+)"""),
        # ENV NAME_PASSWORD password (Dockerfile)
        (
            ("ENV ",),
            r"""(?:^|(?<=\n))[ ]{0,8}ENV[ ]\w{0,40}(?:PASSWORD|PASSWD|SECRET|PASS|PWD)[ ]
            (?P<value>[^\s"'=-][^\s"']{3,}+)(?=[ ]{0,8}(?:\n|\Z))""",
        ),
        # IDENTIFIED BY 'password'
        (
            (" '", ' "'),
            r"""(?i:identified[ ](?:with[ ]\w{1,40}[ ])?by[ ](?:password[ ])?
            |with[ ](?:encrypted[ ])?password[ ])(?P<quote>["'])(?P<value>[^"'\n]++)(?P=quote)""",
        ),
        # user/password: jane/hunter2
        (
            (":", "/"),
            r"""(?i:(?<![A-Za-z])(?:creds?|credentials|login|zugangsdaten|identifiants
            |user(?:name)?[ ]?/[ ]?pass(?:word)?|credenciales))
            [ ]?(?::|=|are|is
              |sind|-)[ ]?(?P<user>[\w.+-]{1,64}(?:@[\w.-]{3,100})?)[ ]?[:/][ ]?(?P<value>[^\s"'/]{5,}+)""",
        ),
        # host:port:database:user:password (.pgpass)
        (
            (":",),
            r"(?:^|(?<=\n))[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w*-]{1,64}:[\w*.-]{1,64}:(?P<value>[^\s:]{3,}+)(?=\n|$)",
        ),
    )
)


def find_logins(view: str) -> Iterator[Found]:
    """Finds passwords in URLs and commands: `https://user:password@host`, `curl -u user:password`, `mysql -pword`."""
    if "@" in view:
        for match in _URL_PASSWORD.finditer(view):
            if not is_template(match["value"]):
                yield found_in(match, "value", "SECRET")
        for match in _USER_PASSWORD.finditer(view):
            if _is_password_of(match) and not is_template(match["value"]):
                yield found_in(match, "value", "SECRET")
    for pattern in (pattern for signs, pattern in _COMMANDS if any(sign in view for sign in signs)):
        for match in pattern.finditer(view):
            value, user = match["value"], match.groupdict().get("user")
            numbers = user is not None and (value == user or (user.isdigit() and value[0].isdigit()))
            weak = user is not None and (not _looks_chosen(value) and "-u" not in match[0])
            if not (numbers or weak or is_template(value) or is_call(value) or value.lower() in _NO_SECRET):
                yield found_in(match, "value", "SECRET")


def find_secrets(view: str) -> Iterator[Found]:
    """Finds labelled passwords and secrets in English, Chinese and other languages, but neither prose nor code."""
    for match in _SECRET.finditer(view):
        if match["quote"]:
            if _is_quoted_secret(match["quoted"]):
                yield found_in(match, "quoted", "SECRET")
        elif (match["loose"] or match["later"] or match["remark"]) and not _looks_chosen(bare(match)):
            continue
        elif _is_bare_secret(value := bare(match), match["sep"], alone=not match["rest"]):
            yield Found(match.start("value"), match.start("value") + len(value), "SECRET", value)
    for match in _BELOW.finditer(view):
        if _looks_chosen(match["value"]) and not _is_described(match["value"]):
            yield found_in(match, "value", "SECRET")
    for match in _CELL.finditer(view):
        if is_secret_of_cell(match["value"]):
            yield found_in(match, "value", "SECRET")
    for match in _SHORT.finditer(view):
        group, value = ("quoted", match["quoted"]) if match["quote"] else ("value", bare(match))
        named = not _NO_LABEL.search(view, max(0, match.start() - 16), match.start())
        if named and _looks_chosen(value) and len(value) >= 5 and not (is_template(value) or is_call(value)):
            yield Found(match.start(group), match.start(group) + len(value), "SECRET", value)
    for match in _ABBREVIATED.finditer(view):
        group = "foreign" if match["foreign"] else "value"
        value = match[group].rstrip(".:?)]}")
        # After a whole word, what is no secret may also have a digit: `password SHA256`.
        chosen = _looks_chosen(value) and (not match["word"] or _SIGNED.search(value))
        if chosen and not (is_template(value) or is_call(value) or is_dotted_name(value)):
            yield Found(match.start(group), match.start(group) + len(value), "SECRET", value)


def find_codes(view: str) -> Iterator[Found]:
    """Finds labelled PINs and security codes of cards: `my PIN is 4821`, `CVV 123`. A pin code may be postal."""
    for match in _CODE.finditer(view):
        is_pin = match[0][:3].lower() == "pin" or match[0].startswith("暗証")
        least, most = (4, 5 if match["postal"] else 8) if is_pin else (3, 4)
        if least <= len(match["value"]) <= most:
            yield found_in(match, "value", "SECRET")


def _looks_chosen(value: str) -> bool:
    """Whether a value has letters and also digits or signs, and is no measure such as `12ms`."""
    return bool(_STRONG.search(value)) and any(map(str.isalpha, value)) and not _MEASURE.match(value)


def is_secret_of_cell(value: str) -> bool:
    """Whether a value in a table looks chosen, and is neither a type, nor a rule, nor code."""
    if len(value) < 8 or _is_described(value):
        return False
    letters_and_digits = value.isascii() and value.isalnum() and _looks_chosen(value)
    return (letters_and_digits and not _TYPE.match(value)) or bool(_MIXED.match(value))


def _is_described(value: str) -> bool:
    """Whether a value below or beside a label is code, the next label or what the label stands for."""
    return value.endswith(":") or is_template(value) or is_call(value) or bool(_SELF_NAMED.search(value))


def _is_password_of(match: re.Match[str]) -> bool:
    """Whether `user:value@host` is a password of a user rather than a label before an e-mail address."""
    if match["user"].lower() in _NO_USER:
        return False
    return _looks_chosen(match["value"]) or bool(match["path"]) or match["host"] == "localhost"


def _is_quoted_secret(value: str) -> bool:
    if not value.strip(TAKEN + " ") or is_template(value) or value.lower() in _NO_SECRET:
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
    is_word = _WORD.match(value) and value.isascii() and value.lower() not in _NO_SECRET
    return bool(is_labelled and alone and is_word and len(value) >= 6 and not _SELF_NAMED.search(value))

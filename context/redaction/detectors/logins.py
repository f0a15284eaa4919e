"""Detector of passwords by their place in a URL or a command: `https://user:password@host`, `mysql -ppassword`."""

import re
from collections.abc import Iterator

from purser.context.redaction.detectors.labelled import found_in, is_call, is_template
from purser.context.redaction.detectors.passwords import NO_SECRET, looks_chosen
from purser.context.redaction.findings import Found

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
        # sqlplus user/password@database
        (
            ("/",),
            r"""(?<![\w-])(?:(?:sqlplus|sqlcl|sql|conn|connect|exp(?:dp)?|imp(?:dp)?|sqlldr|rman[ ]target)[ ]
            (?:-\w{1,9}[ ])?|jdbc:oracle:\w{1,9}:)["']?[A-Za-z_][\w$#]{0,40}/(?P<quote>"?)
            (?P<value>[^\s/@"']{3,}+)(?P=quote)@(?=[\w/(])""",
        ),
        # htpasswd -b file user password
        (
            ("htpasswd",),
            r"""(?<![\w-])htpasswd[ ]-\w{0,6}b\w{0,6}(?:[ ][^\s-][^\s]{0,100}){1,2}[ ]["']?
            (?P<value>[^\s"'|;>-][^\s"']{2,}+)""",
        ),
        # rclone obscure password
        (("obscure",), r"""(?<![\w-])rclone[ ]obscure[ ]["']?(?P<value>[^\s"'|;>-][^\s"'|;]{2,}+)"""),
        # net use Z: //host/share password /user:name (with backslashes)
        (("/user:",), r"""(?<![\w-])net[ ]use[ ][^\n]{0,200}?[ ](?P<value>[^\s/*"\\:-][^\s"\\]{2,}+)(?=[ ]/user:)"""),
        # smbclient -U user%password, lftp -u user,password
        (
            ("smb", "lftp", "rpcclient"),
            r"""(?<![\w-])(?:smb\w{3,8}|rpcclient|lftp)(?=[ ])[^\n|;]{0,200}?[ ]-[uU][ ]?["']?
            (?P<user>[\w.\\-]{1,64})[%,](?P<value>[^\s"']{3,}+)""",
        ),
        # echo 'user:password' | chpasswd
        (
            ("chpasswd",),
            r"""echo[ ](?:-n[ ])?["']?(?P<user>[\w.-]{1,32}):(?P<value>[^\s"'|]{3,}+)["']?
            [ ]?\|[ ]?(?:sudo[ ])?chpasswd""",
        ),
        # --password password
        (
            ("pass", "pwd", "secret"),
            r"""(?<![\w-])--?[\w-]{0,20}(?:password|passwd|passphrase|pass|pwd|secret)[ =]["']?
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
        # SET PASSWORD = PASSWORD('password')
        (("PASSWORD(",), r"""(?<![\w.])PASSWORD\((?P<quote>["'])(?P<value>[^"'\n]++)(?P=quote)\)"""),
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
            weak = user is not None and (not looks_chosen(value) and "-u" not in match[0])
            if not (numbers or weak or is_template(value) or is_call(value) or value.lower() in NO_SECRET):
                yield found_in(match, "value", "SECRET")


def _is_password_of(match: re.Match[str]) -> bool:
    """Whether `user:value@host` is a password of a user rather than a label before an e-mail address."""
    if match["user"].lower() in _NO_USER:
        return False
    return looks_chosen(match["value"]) or bool(match["path"]) or match["host"] == "localhost"

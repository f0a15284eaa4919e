"""Long repetitive texts, as an attacker would write them to make redaction slow."""

import sys
from types import FrameType

import pytest

from purser.context.redaction import Redactor
from tests.support.runs.proof import sized, some

PIECES = [
    piece.replace("⏎", "\n").replace("␣", "\u200b")
    for piece in """
a|1|@|a@|a@a.|:|1:|1.|1,|1-|12 |(|+1 |"|\\n|中|[|[EMAIL_1]|x@y.org |⏎|␣|4␣|+|::|=|<|&|%40|&#64;|\\u0040|(at|&lt;
user,password⏎|user,password⏎a,b1c2d3e4⏎|password;
password=|password="|password: a |password⏎|password to |password for x |pass:|密码|token:|value: |--pass |<a>|secret.
://a:|://a:bbbbbb|://a:b@|u:p@|a:b@|-u a:b |mysql |mysql -p|login |login a password |creds: a/b |h:1:d:u:|identified by
cookie: |cookie: a=b;|a=b;|basic |ssn |sk-|SG.a|eyJaaaaaa-|Maaaaaaaaaaaaaaaaaaaaaaaaa-
-----BEGIN PRIVATE KEY-----aaaaaaaa |-----BEGIN PRIVATE KEY-----
DE|DE12 |ab12 |ab12 1234 |DE89 3704 0044 0532 0130 00 |DE89 3704 0044 0532 0130 01 |GB29 NWBK 6016 1331 9268 19⏎
4111 |4111-|4111 1111 1111 1111 |4⏎|4 1 |1 1 1 1 |41111111⏎|1/1/|4242|visa4
call |call 1234567 |电话|0490 75 40 81 |06 |0612345678 |+41 79 123 45 67 |00 1 2 |+52 1 |852-2345-|555-0142 |8-800-
一|一三|13812345678,|5550142 |is my |phone |call sites |wa.me/|tel:|0800-1700 |12-34-56-78-
1.2.3.4 |1.2.3.4-|=1.2.3.4|ip=|f:|2024-01-01 |$1,|order | at | dot |CT 06385-3823 |a at b dot |.
a @ b.|a at b punto |a(a)b.|a@a。|[.]|4242+|(4242)|DE+89 |0 812 12 12 12 |08-12 13-17 |0a 12 |libaaaaaaaa|a/b:
<a>1.2.3.4</|--token |&sig=aaaaaaaaaaaaaaaaaaaaa1|token d'|basic QTpC|password (x) |<password a="b" |zip -P |zip
openssl enc |echo a:b|0 12 / 34 / |-u "a:b c|user=a password=abc b=|密码 |text |webhooks/1
verification code |123456 is your a b c |your a b c |your code is |otp for a |pin of my card for a |recovery code 1a-
net use a /user:|htpasswd -b a b c|sqlplus a/bbb@|smbclient -U a|passphrase: abc abc abc abc abc |password for a b is
(password a1b2c3) |PASSWORD('|" { default=|code=aaaaaaaaaaaaaaaaaaaaa1|א-a@b.cc |4 1 5 2 7 |Aa_
""".strip("\n")
    .replace("\n", "|")
    .split("|")
]
LABELS = ["password: ", 'password: "', "token=", "curl -u a:", "mysql -p", "--password ", "http://a:", "cookie: a="]
LENGTH = sized(100_000, 300_000)
"""Characters: seconds in linear time; in quadratic time minutes to an hour, which exceeds the timeout of a test."""


def _calls(text: str) -> int:
    """Calls of functions, written in Python or not, that redact a text."""
    count = 0

    def on_event(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    redactor = Redactor()
    sys.setprofile(on_event)
    try:
        redactor.redact(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("piece", PIECES)
def test_four_times_the_text_takes_no_more_than_eight_times_the_calls(piece: str) -> None:
    once, more = (_calls(piece * (length // len(piece) + 1)) for length in (300, 1_200))
    assert more <= 8 * once + 300, "sixteen times would be quadratic; a second pass may double it"


def test_digits_with_spaces_take_few_calls() -> None:
    assert _calls("4 " * 3_000) < 40 * 6_000, "no issuer and no label is looked for in each group anew"


@pytest.mark.parametrize("label", LABELS)
def test_a_value_four_times_as_long_takes_about_four_times_the_calls(label: str) -> None:
    once, more = (_calls(label + "x1y9" * words) for words in (750, 3_000))
    assert more <= 5 * once, "sixteen times if each pass finds only a part of the value"


@pytest.mark.proof
@pytest.mark.timeout(300)
@pytest.mark.parametrize("label", LABELS)
def test_one_long_value_after_another_is_redacted(label: str) -> None:
    piece = label + "x1y9" * 5_000 + "\n"
    redacted = Redactor().redact(piece * (LENGTH // len(piece)))
    assert Redactor().redact(redacted) == redacted, "nothing is left to find"


@pytest.mark.proof
@pytest.mark.timeout(300)
@pytest.mark.parametrize("piece", some(PIECES, 3))
def test_a_text_of_one_piece_over_and_over_is_redacted(piece: str) -> None:
    text = piece * (LENGTH // len(piece))
    redacted = Redactor().redact(text)
    assert Redactor().redact(redacted) == redacted, "nothing is left to find"


@pytest.mark.proof
@pytest.mark.timeout(300)
def test_eight_hundred_kilobytes_of_bank_accounts_are_redacted() -> None:
    account = "DE89 3704 0044 0532 0130 00 "
    assert Redactor().redact(account * (800_000 // len(account))) == "[IBAN_1] " * (800_000 // len(account))

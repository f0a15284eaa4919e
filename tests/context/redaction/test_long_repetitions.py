"""Long repetitive texts, as an attacker would write them to make redaction slow."""

import pytest

from purser.context.redaction import Redactor
from tests.support.proof import some

PIECES = (
    *(
        "a",
        "1",
        "@",
        "a@",
        "a@a.",
        ":",
        "1:",
        "1.",
        "1,",
        "1-",
        "12 ",
        "(",
        "+1 ",
        '"',
        "\\n",
        "中",
        "[",
        "[EMAIL_1]",
        "x@y.org ",
    ),
    *(
        "password=",
        'password="',
        "password: a ",
        "密码",
        "token:",
        "://a:",
        "://a:bbbbbb",
        "basic ",
        "ssn ",
        "sk-",
        "SG.a",
    ),
    *(
        "eyJaaaaaa-",
        "Maaaaaaaaaaaaaaaaaaaaaaaaa-",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----aaaaaaaa ",
    ),
    *(
        "ab12 ",
        "ab12 1234 ",
        "4111 ",
        "call ",
        "call 1234567 ",
        "电话",
        "0490 75 40 81 ",
        "+41 79 123 45 67 ",
        "00 1 2 ",
    ),
    *("2024-01-01 ", "$1,", "order ", "13812345678,", "f:"),
)
LENGTH = 300_000
"""Characters: a second in linear time; an hour in quadratic time, which exceeds the timeout of a test."""


@pytest.mark.proof
@pytest.mark.timeout(300)
@pytest.mark.parametrize("piece", some(PIECES, 3))
def test_a_text_of_one_piece_over_and_over_is_redacted(piece: str) -> None:
    text = piece * (LENGTH // len(piece))
    redacted = Redactor().redact(text)
    assert Redactor().redact(redacted) == redacted, "nothing is left to find"

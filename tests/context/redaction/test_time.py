"""The time grows with the length of a text and no faster, whatever somebody writes."""

import multiprocessing
import time

import pytest

from context.redaction import Redactor

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
LENGTH = 20_000


def _ratio(piece: str) -> float:
    """How much longer sixteen times the text takes."""
    short, long = piece * (LENGTH // len(piece)), piece * (16 * LENGTH // len(piece))
    begun = time.process_time()
    Redactor().redact(short)
    middle = time.process_time()
    Redactor().redact(long)
    return (time.process_time() - middle) / max(middle - begun, 0.005)


@pytest.mark.parametrize("pieces", [PIECES[start::4] for start in range(4)], ids=range(4))
def test_sixteen_times_the_text_takes_nowhere_near_its_square(pieces: tuple[str, ...]) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as watched:
        # A square would take 256 times as long, and the first such piece for minutes.
        ratios = dict(zip(pieces, watched.map_async(_ratio, pieces).get(timeout=120), strict=True))
    assert {piece: ratio for piece, ratio in ratios.items() if ratio > 100} == {}

"""Images in parts of messages, their sizes, and their cost: by size if it is known, otherwise the model's maximum."""

import base64
import struct

import pytest

from purser_client.wire.image_rules import Patches, Tiles, image_rule_of
from purser_client.wire.images import Image, Size, size_of

GPT_4O = Tiles(85, 170)


@pytest.mark.parametrize(
    ("size", "tokens"),
    [
        ((512, 512), 85 + 170),
        ((1024, 1024), 85 + 170 * 4),  # the examples of OpenAI's guide
        ((2048, 4096), 85 + 170 * 6),
        ((1, 1), 85 + 170),
        ((100_000, 10), 85 + 170 * 4),
        (None, 85 + 170 * 8),
    ],
)
def test_tiles_follow_openais_examples(size: Size | None, tokens: int) -> None:
    assert GPT_4O.tokens(Image(size, low_detail=False)) == tokens


def test_low_detail_costs_the_base_alone() -> None:
    assert GPT_4O.tokens(Image((4096, 4096), low_detail=True)) == 85


@pytest.mark.parametrize(
    ("size", "tokens"), [((32, 32), 2), ((33, 32), 4), ((1024, 1024), 1659), ((8000, 8000), 2489), (None, 2489)]
)
def test_patches_are_counted_up_to_the_most_of_the_model(size: Size | None, tokens: int) -> None:
    assert Patches(32, 1536, 162).tokens(Image(size, low_detail=False)) == tokens


def test_an_unknown_size_costs_as_much_as_any_known_one() -> None:
    for rule in (GPT_4O, Patches(28, 1600)):
        unknown = rule.tokens(Image(None, low_detail=False))
        for width in (1, 300, 768, 2048, 9000):
            for height in (1, 500, 768, 2048, 9000):
                assert rule.tokens(Image((width, height), low_detail=False)) <= unknown


FILES = {
    "png": b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480),
    "gif": b"GIF89a" + struct.pack("<HH", 640, 480),
    "jpeg": b"\xff\xd8\xff\xe0"
    + struct.pack(">H", 16)
    + bytes(14)
    + b"\xff\xff\xc2"
    + struct.pack(">HBHH", 17, 8, 480, 640),
    "webp lossy": b"RIFF0000WEBPVP8 " + bytes(10) + struct.pack("<HH", 640, 480),
    "webp lossless": b"RIFF0000WEBPVP8L" + bytes(5) + struct.pack("<I", 639 | 479 << 14),
    "webp extended": b"RIFF0000WEBPVP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little"),
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES.keys())
def test_sizes_are_read_from_the_headers_of_the_usual_formats(data: bytes) -> None:
    assert size_of(data) == size_of(base64.b64encode(data).decode()) == (640, 480)


def test_base64_may_be_in_the_alphabet_of_addresses() -> None:
    encoded = base64.urlsafe_b64encode(FILES["jpeg"]).decode()
    assert {"-", "_"} & set(encoded)
    assert size_of(encoded) == (640, 480)


@pytest.mark.parametrize("data", FILES.values(), ids=FILES.keys())
def test_a_header_that_breaks_off_has_no_size_and_is_no_error(data: bytes) -> None:
    for length in range(len(data)):
        assert size_of(base64.b64encode(data[:length]).decode()) in {None, (640, 480)} | _cut_short(data, length)


def _cut_short(data: bytes, length: int) -> set[Size]:
    """Sizes that the truncated bytes encode: a truncated figure reads smaller."""
    size = size_of(base64.b64encode(data[:length]).decode())
    return {size} if size and size[0] <= 640 and size[1] <= 480 else set()


@pytest.mark.parametrize("encoded", ["", "no base64!", "kein Bäse64", "AAAA", "A"])
def test_what_is_no_image_has_no_size(encoded: str) -> None:
    assert size_of(encoded) is None


def test_the_frame_of_a_jpeg_is_not_looked_for_without_end() -> None:
    start, rest = FILES["jpeg"][:2], FILES["jpeg"][2:]
    assert size_of(start + b"\xff" * 900 + rest) == (640, 480)
    assert size_of(start + b"\xff" * 1_100 + rest) is None


def test_without_a_model_an_image_costs_at_least_what_most_models_charge() -> None:
    names = ("gpt-4o", "gpt-5", "claude-sonnet-5", "claude-sonnet-4", "gemini-3-pro", "some-model")
    for size in ((1024, 1024), (2048, 2048), None):
        image = Image(size, low_detail=False)
        most = max(image_rule_of(name).tokens(image) for name in names)
        assert most <= image_rule_of(None).tokens(image) <= 4_800

"""Token cost of images: by size if the message contains the image, otherwise the model's maximum."""

import base64
import struct

import pytest

from purser.context.tokens import count_message
from purser.context.tokens.images import Image, Patches, Size, Tiles, size_of

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
    assert size_of(base64.b64encode(data).decode()) == (640, 480)


@pytest.mark.parametrize("data", FILES.values(), ids=FILES.keys())
def test_a_header_that_breaks_off_has_no_size_and_is_no_error(data: bytes) -> None:
    for length in range(len(data)):
        assert size_of(base64.b64encode(data[:length]).decode()) in {None, (640, 480)} | _cut_short(data, length)


def _cut_short(data: bytes, length: int) -> set[Size]:
    """Sizes that the truncated bytes encode: a truncated figure reads smaller."""
    size = size_of(base64.b64encode(data[:length]).decode())
    return {size} if size and size[0] <= 640 and size[1] <= 480 else set()


@pytest.mark.parametrize("encoded", ["", "no base64!", "AAAA", "A"])
def test_what_is_no_image_has_no_size(encoded: str) -> None:
    assert size_of(encoded) is None


def test_the_bytes_of_an_image_are_never_counted_as_text() -> None:
    url = "data:image/png;base64," + base64.b64encode(FILES["png"] + bytes(300_000)).decode()
    part = {"type": "image_url", "image_url": {"url": url}}
    assert count_message({"role": "user", "content": [part]}, "gpt-4o").tokens == 4 + 85 + 170 * 2


def test_models_charge_for_the_same_image_by_their_own_rules() -> None:
    message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}
    models = ("gpt-4o", "gpt-4o-mini", "claude-sonnet-4-5", "gemini/gemini-2.5-pro")
    assert [count_message(message, model).tokens - 4 for model in models] == [1445, 48_169, 1600, 1120]

"""The address of a gateway. Standard library only."""

from urllib.parse import urlsplit


def is_address(text: object) -> bool:
    """Whether it is an http or https address that can be reached."""
    if not isinstance(text, str):
        return False
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half of an IPv6 address, or a port that is no number
        return False
    return valid and text.isprintable() and " " not in text


def check_address(text: object, example: str = "http://127.0.0.1:8787") -> None:
    """Raises `ValueError` if it is none. The message repeats no password."""
    if not is_address(text):
        shown = "it" if "@" in str(text) else repr(text)
        raise ValueError(f"{shown} is not an address such as {example}: begin with http:// or https://")


def base_address(text: str, example: str = "http://127.0.0.1:8787") -> str:
    """An address that paths can follow, without a final slash.

    Raises:
        ValueError: it is none, or names a user, who would take the place of the key.
    """
    if "@" in str(text):
        raise ValueError("the address names a user: leave out what is before @")
    check_address(text, example)
    if "?" in text or "#" in text:
        raise ValueError(f"paths follow the address {text!r}: leave out what begins with ? or #")
    return text.rstrip("/")

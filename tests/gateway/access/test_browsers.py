"""Headers by which a browser states the origin of a request, including malformed ones."""

import pytest
from starlette.datastructures import Headers

from purser.gateway.access.browsers import is_own_page


@pytest.mark.parametrize("origin", ["http://[::1", "http://[x]:1", "http://[", "http://", "null", "", "http://a\tb"])
def test_an_origin_that_is_no_address_is_another_address(origin: str) -> None:
    assert not is_own_page(Headers({"host": "purser.example", "origin": origin}))


def test_the_address_of_the_request_itself_is_the_own_one() -> None:
    assert is_own_page(Headers({"host": "purser.example:1", "origin": "https://PURSER.example:1"}))

"""Which hosts are this machine alone."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host: an address or a name, without the brackets of IPv6."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

"""The addresses that a webhook may have, and those to which its requests may go.

A name is resolved when a connection is made, and the connection goes to the very address that was checked: a
name that changes its answer in between leads nowhere else.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterator

import httpx2

from app.errors import InputError

URL_CHARACTERS = 2000
# An IPv4 address inside, as a translator of addresses reaches it.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class PrivateAddressError(Exception):
    """The name leads to no public address."""


class UnknownNameError(Exception):
    """The name leads nowhere."""


def is_public(address: str) -> bool:
    """Whether an IP address, as text, is one of the public internet: not private, loopback or link-local."""
    return _is_public(ipaddress.ip_address(address))


def _is_public(address: _Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None or address.teredo is not None or address.is_site_local:
            return False
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner is not None:
            return _is_public(inner)
    return address.is_global and not (address.is_multicast or address.is_reserved)


def check_url(url: str, *, private: bool) -> str:
    """The URL in its normal form. `private` allows private addresses and plain HTTP.

    A name is checked at each connection. Raises InputError.
    """
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError, UnicodeError) as error:
        raise _url_error("This is no address.") from error
    if len(url) > URL_CHARACTERS or not re.fullmatch(r"[!-~]+", str(parsed)):
        raise _url_error(f"An address has at most {URL_CHARACTERS} printable characters.")
    if parsed.scheme not in ({"https", "http"} if private else {"https"}):
        raise _url_error("An address begins with https://.")
    if not parsed.host or not 1 <= (parsed.port or 443) <= 65535:
        raise _url_error("This address has no host, or no port from 1 to 65535.")
    if parsed.userinfo or parsed.fragment:
        raise _url_error("An address has no user, no password and no fragment: the signature says who sends.")
    try:
        literal = ipaddress.ip_address(parsed.host)
    except ValueError:
        # The checks below are those of an address in digits.
        return str(parsed)
    if not private and not _is_public(literal):
        raise InputError(
            "This address is private. Nothing is sent to private, loopback or link-local addresses"
            " (SAMEHERE_WEBHOOK_PRIVATE).",
            code="private_address",
            field="url",
        )
    return str(parsed)


def _url_error(message: str) -> InputError:
    return InputError(f"{message} Example: https://bot.example/news", code="bad_webhook_url", field="url")


def checked_addresses(host: str, port: int, *, private: bool) -> Iterator[str]:
    """The addresses, in digits, to which a connection for this host may go.

    Raises UnknownNameError, and PrivateAddressError if there is no such address.
    """
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnknownNameError(host) from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    allowed = [address for address in addresses if private or is_public(address)]
    if not allowed:
        raise PrivateAddressError(host)
    yield from allowed

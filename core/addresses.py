"""Where a request comes from, as far as limits go."""

import hashlib
import hmac
import ipaddress
import re

from django.conf import settings
from django.http import HttpRequest

UNKNOWN = "0.0.0.0"  # noqa: S104 - no address is bound to it; clients of unknown address share one limit
_WITH_PORT = re.compile(r"\[(?P<six>[0-9A-Fa-f:.]+)\](?::\d+)?|(?P<four>\d+\.\d+\.\d+\.\d+):\d+")


def client_address(request: HttpRequest) -> str:
    """The client's IP address, from CLIENT_ADDRESS_HEADER if the proxy sets it. Always one that can be parsed.

    Where the header names several, each proxy added one at the end: the last is the one that nobody made up. A port is
    dropped. Where the header is absent or holds no address, the connection's own counts; where that has none either
    (a Unix socket), all such clients are one.
    """
    for named in (request.META.get(settings.CLIENT_ADDRESS_HEADER), request.META.get("REMOTE_ADDR")):
        text = str(named or "").rpartition(",")[2].strip().strip('"')
        if match := _WITH_PORT.fullmatch(text):
            text = match["six"] or match["four"]
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            continue
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return str(mapped or address).partition("%")[0]
    return UNKNOWN


def address_digest(request: HttpRequest) -> str:
    """A short keyed digest of the client's network (64 bits of an IPv6 address). The address is not kept."""
    address = ipaddress.ip_address(client_address(request))
    network = ipaddress.ip_network((address, 64 if address.version == 6 else 32), strict=False)
    return hmac.new(settings.SECRET_KEY.encode(), f"address {network}".encode(), hashlib.sha256).hexdigest()[:16]

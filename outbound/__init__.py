"""One POST to an address that somebody else chose: which machines may be called, for how long, and how little is read.

Webhooks of the site and notifications of the marketplace go where strangers choose. That must not be a machine
that only we can reach, must not hold us longer than we say, and must not fill our memory. Nothing here knows Django.
"""

import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Of an answer. A status comes in the first few hundred.
MOST_BYTES = 16_384
_PORTS = {"https": 443, "http": 80}
_HOST = re.compile(r"[a-z0-9_.-]{1,253}", re.IGNORECASE)
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: |\r|$)")
# The only block of IPv6 that is handed out. Outside of it are, among others, addresses that hold an IPv4 address:
# mapped, compatible, translated, and those of NAT64. Inside it are those of protocols (Teredo), of documentation, and
# of 6to4.
_UNICAST = ipaddress.IPv6Network("2000::/3")
_NOT_MACHINES: tuple[Network, ...] = tuple(
    ipaddress.ip_network(block) for block in ("192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)


class NotDelivered(Exception):
    """It did not arrive, or was not taken. The message says why."""


class Reach(NamedTuple):
    """What may be called beside https on the public internet."""

    # None: any.
    ports: frozenset[int] | None = frozenset({443})
    # Whose machines may be called though they are not on the public internet.
    networks: Sequence[Network] = ()
    # Whether http will do.
    insecure: bool = False


def is_public(address: Address) -> bool:
    """Whether this is the address of one machine on the public internet, and does not stand for another address."""
    if isinstance(address, ipaddress.IPv6Address) and address not in _UNICAST:
        return False
    if any(address.version == block.version and address in block for block in _NOT_MACHINES):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def may_call(address: Address, networks: Sequence[Network] = ()) -> bool:
    """Whether an address is public, or in one of the networks."""
    return is_public(address) or any(address.version == block.version and address in block for block in networks)


def destination_problem(url: str, reach: Reach) -> str:
    """Why this cannot be an address to post to, as the end of a sentence; empty if it can, as far as one sees."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return "is not an address"
    if parts.scheme not in (_PORTS if reach.insecure else ("https",)) or not parts.hostname:
        return "is not an address that starts with https://"
    if parts.username is not None or parts.password is not None:
        return "holds a user name or a password"
    if reach.ports is not None and port not in reach.ports:
        allowed = ", ".join(str(port) for port in sorted(reach.ports))
        return f"names port {port}, and only {allowed} may be called"
    if (literal := _literal(parts.hostname)) is not None:
        return "" if may_call(literal, reach.networks) else "is not on the public internet"
    return "" if _HOST.fullmatch(_ascii(parts.hostname)) else "names no host"


def post(url: str, body: bytes, headers: Mapping[str, str], *, reach: Reach, seconds: float) -> None:
    """Post it, and return once a status says that it was taken; the rest of the answer is never read.

    `seconds` are for all of it: looking the host up, connecting, sending and the status. The host is looked up once,
    each of its addresses must be one that may be called, and one of these is connected to. Raises NotDelivered.
    """
    if problem := destination_problem(url, reach):
        raise NotDelivered(f"the address {problem}")
    deadline = time.monotonic() + seconds
    parts = urlsplit(url)
    host = _ascii(parts.hostname or "")
    port = parts.port or _PORTS[parts.scheme]
    addresses = _look_up(host, port, deadline)
    if not all(may_call(address, reach.networks) for address in addresses):
        raise NotDelivered("the host is not on the public internet")
    try:
        with _connect(addresses, port, deadline) as plain:
            if parts.scheme == "http":
                status = _exchange(plain, _request(parts, host, body, headers), deadline)
            else:
                plain.settimeout(_left(deadline))
                with _tls().wrap_socket(plain, server_hostname=host) as secure:
                    status = _exchange(secure, _request(parts, host, body, headers), deadline)
    except TimeoutError as error:
        raise NotDelivered("it took too long") from error
    except OSError as error:
        raise NotDelivered(f"{type(error).__name__}: {error}") from error
    if not 200 <= status < 300:
        raise NotDelivered(f"status {status}")


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _ascii(host: str) -> str:
    try:
        return host if ":" in host else host.encode("idna").decode()
    except UnicodeError:
        return ""


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _look_up(host: str, port: int, deadline: float) -> list[Address]:
    """All addresses of a host. The system's resolver knows no deadline: it is asked on a thread that is left behind."""
    answers: list[list[Address]] = []

    def ask() -> None:
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answers.append([ipaddress.ip_address(str(entry[4][0])) for entry in entries])
        except (OSError, ValueError):
            answers.append([])

    asking = threading.Thread(target=ask, name="resolver", daemon=True)
    asking.start()
    asking.join(max(0.0, deadline - time.monotonic()))
    if not answers:
        raise NotDelivered("looking up the host took too long")
    if not answers[0]:
        raise NotDelivered("the host's name is not known")
    return answers[0]


def _connect(addresses: Sequence[Address], port: int, deadline: float) -> socket.socket:
    """A connection to the first of the addresses that takes one."""
    refused: OSError = OSError("no address")
    for address in addresses:
        try:
            return socket.create_connection((str(address), port), timeout=_left(deadline))
        except TimeoutError:
            raise
        except OSError as error:
            refused = error
    raise refused


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _request(parts: SplitResult, host: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    name = f"[{host}]" if ":" in host else host
    target = quote(f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}", safe="%/:?#[]@!$&'()*+,;=~-._")
    lines = {
        "Host": f"{name}:{parts.port}" if parts.port else name,
        "Content-Length": str(len(body)),
        "Connection": "close",
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST {target} HTTP/1.1\r\n{head}\r\n".encode() + body


def _exchange(connection: socket.socket, request: bytes, deadline: float) -> int:
    """Send it all, and read as far as the final status."""
    connection.settimeout(_left(deadline))
    connection.sendall(request)
    received = b""
    while len(received) < MOST_BYTES:
        connection.settimeout(_left(deadline))
        part = connection.recv(4096)
        if not part:
            break
        received += part
        while b"\r\n" in received:
            status = _STATUS.match(received)
            if status is None:
                raise NotDelivered("the answer is not HTTP")
            if (code := int(status[1])) >= 200:
                return code
            _, end, after = received.partition(b"\r\n\r\n")  # such as 100 Continue: the answer proper comes next
            if not end:
                break
            received = after
    raise NotDelivered("there was no status in the answer")

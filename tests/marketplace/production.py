"""A marketplace in production mode, with nothing of development or tests, behind what a proxy does to requests.

Clients believe that they talk to https://market.example.org. `Proxy` hands their requests on to the server, and says in
X-Forwarded-Proto and X-Forwarded-For how and from where they came, as the proxy of docker/Caddyfile does.
"""

import io
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import httpx
from botocore.awsrequest import AWSResponse  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]

from tests.marketplace.people import OPERATOR, PASSWORD, Guest
from tests.marketplace.server import Marketplace

HOST = "market.example.org"
_numbers = itertools.count(1)


class Proxy(httpx.BaseTransport):
    """Hands requests for the marketplace's public address on to a port of this machine, over http."""

    def __init__(self, port: int, client_address: str) -> None:
        self._port = port
        self._client_address = client_address
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One request; the Host header is handed on as it came, and what a client claims of itself is dropped."""
        assert request.url.host == HOST, "only the marketplace is asked for"
        headers = httpx.Headers(request.headers)
        headers["X-Forwarded-Proto"] = request.url.scheme
        headers["X-Forwarded-For"] = self._client_address
        url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port)
        return self._inner.handle_request(
            httpx.Request(request.method, url, headers=headers, content=request.read(), extensions=request.extensions)
        )

    def close(self) -> None:
        self._inner.close()


class _Body(io.BytesIO):
    """An answer's bytes, as botocore reads them."""

    def stream(self, _size: int = 0, **_: Any) -> Iterator[bytes]:
        yield self.read()


INVITE = "from marketplace.services.accounts import invitation_make; print(invitation_make().token)"


class Worker(Guest):
    """A worker who was invited and registered through the pages."""

    def __init__(self, market: "Production", country: str = "US") -> None:
        super().__init__(market)
        self.email = f"worker{next(_numbers)}@example.org"
        invitation = market.run("shell", "--no-imports", "-c", INVITE)
        self.get(f"/register?invitation={invitation}")
        answer = self.post("/register", invitation=invitation, email=self.email, password=PASSWORD, country=country)
        assert answer.status_code == 303, answer.text

    def accept(self, hit_id: str) -> str:
        """The assignment's id."""
        answer = self.post(f"/tasks/{hit_id}/accept")
        assert answer.status_code == 303, answer.text
        return answer.headers["Location"].rpartition("/")[2]


class Production(Marketplace):
    """A running marketplace with production's settings."""

    def __init__(self, folder: Path, **environment: str) -> None:
        super().__init__(
            folder,
            workers=1,
            DJANGO_SETTINGS_MODULE="marketplace.settings",
            DEVELOPMENT="0",
            MARKETPLACE_URL=f"https://{HOST}",
            MARKETPLACE_CLIENT_ADDRESS_HEADER="HTTP_X_FORWARDED_FOR",
            STATIC_ROOT=str(folder / "static"),
            **environment,
        )

    def prepare(self) -> None:
        """As an operator prepares it: static files are collected, too."""
        self.run("collectstatic", "--no-input", "--verbosity", "0")
        super().prepare()

    def visitor(self) -> httpx.Client:
        """A new visitor who comes over https, from an address of their own."""
        number = next(_numbers)
        proxy = Proxy(self.port, f"198.51.{100 + number // 250}.{number % 250 + 1}")
        return httpx.Client(base_url=f"https://{HOST}", transport=proxy, timeout=30, trust_env=False)

    def client(self, key_id: str, secret: str, **config: Any) -> Any:
        """boto3's client for the public address, whose requests go through the proxy."""
        client = boto3.client(
            "mturk",
            endpoint_url=f"https://{HOST}",
            region_name="us-east-1",
            aws_access_key_id=key_id,
            aws_secret_access_key=secret,
            config=Config(retries={"total_max_attempts": 1}, **config),
        )
        visitor = self.visitor()

        def send(request: Any, **_: Any) -> AWSResponse:
            headers = {
                name: value if isinstance(value, str) else value.decode() for name, value in request.headers.items()
            }
            answer = visitor.request(request.method, request.url, content=request.body, headers=headers)
            return AWSResponse(request.url, answer.status_code, answer.headers, _Body(answer.content))

        client.meta.events.register("before-send.mturk", send)
        return client

    def requester_client(self, deposit: str = "100") -> Any:
        """A new requester with money, made by the operator's commands: boto3's client."""
        account_id = self.run("create_requester", f"requester {next(_numbers)}")
        self.run("deposit", account_id, deposit)
        printed = self.run("issue_key", account_id).split()
        return self.client(printed[2], printed[5])

    def person(self) -> Guest:
        """Somebody who is not logged in."""
        return Guest(self)

    def registered(self, **facts: str) -> Worker:
        """A new worker, logged in."""
        return Worker(self, **facts)


def production_running(folder: Path) -> Iterator[Production]:
    """One marketplace in production mode, with an operator."""
    running = Production(folder)
    running.start("create_operator", OPERATOR, MARKETPLACE_OPERATOR_PASSWORD=PASSWORD)
    yield running
    running.stop()

"""Programs that call the API, each with a token of its owner."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test.client import BOUNDARY, MULTIPART_CONTENT, Client, encode_multipart
from django.utils import timezone

from api import tokens
from api.models import Scope
from core.models import Lab, User
from tests import factories

EVERYTHING = Scope.values


class Program:
    """A program with a token: `program.get("runs/")`. What it sends as a dictionary goes as JSON."""

    def __init__(self, user: User, *scopes: str, days: int = 1) -> None:
        at = timezone.now() - timedelta(hours=1)
        fields = {"user": user, "name": "tests", "scopes": scopes or EVERYTHING, "days": days, "at": at}
        self.user = user
        self.token, self.text = tokens.token_create(**fields)
        self.client = Client(raise_request_exception=False)

    def _call(self, method: str, address: str, content: Any = None, **headers: str) -> Any:
        address = address if address.startswith("/") else f"/api/v1/{address}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent: dict[str, Any] = {"headers": {"Authorization": f"Bearer {self.text}"} | named}
        if method not in ("get", "head"):
            sent |= {"data": "" if content is None else json.dumps(content), "content_type": "application/json"}
        return getattr(self.client, method)(address, **sent)

    def get(self, address: str, **headers: str) -> Any:
        return self._call("get", address, **headers)

    def head(self, address: str, **headers: str) -> Any:
        """What `get` would send, without its content."""
        return self._call("head", address, **headers)

    def post(self, address: str, content: Any = None, **headers: str) -> Any:
        """Make or do something."""
        return self._call("post", address, content, **headers)

    def put(self, address: str, content: Any = None, **headers: str) -> Any:
        """Replace something."""
        return self._call("put", address, content, **headers)

    def patch(self, address: str, content: Any = None, **headers: str) -> Any:
        """Change something."""
        return self._call("patch", address, content, **headers)

    def delete(self, address: str, **headers: str) -> Any:
        return self._call("delete", address, **headers)

    def upload(self, address: str, method: str = "post", headers: dict[str, str] | None = None, **fields: Any) -> Any:
        """Send a form with files."""
        sent: dict[str, Any] = {"headers": {"Authorization": f"Bearer {self.text}"} | (headers or {})}
        content = encode_multipart(BOUNDARY, fields)
        return self.client.generic(
            method.upper(), f"/api/v1/{address}", content, content_type=MULTIPART_CONTENT, **sent
        )


@pytest.fixture
def program(rita: User) -> Program:
    """A program of Rita's, which may do whatever she may."""
    return Program(rita)


@pytest.fixture
def stranger(db: None) -> Program:
    """A program of somebody in another lab."""
    olga = factories.user("olga")
    factories.lab("Olga's lab", olga)
    return Program(olga)


@pytest.fixture
def viewer(lab: Lab) -> Program:
    """A program of somebody who may look at everything in Rita's lab, with a token that would do more."""
    return Program(factories.member(lab, "viewer"))

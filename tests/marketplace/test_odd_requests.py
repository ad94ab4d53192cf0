"""Requests that no browser sends: the marketplace refuses them, and breaks on none."""

import pytest

from tests.marketplace.server import Marketplace

FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize("path", ["/login", "/register", "/mturk/externalSubmit", "/nowhere", "/operator/"])
@pytest.mark.parametrize(
    ("body", "kind"),
    [("a=1", f"{FORM}; charset=utf-16"), ("a=" + "x" * (3 << 20), FORM), ("a=1&" * 2000, FORM)],
    ids=["another encoding", "too long", "too many fields"],
)
def test_a_form_that_cannot_be_read_is_no_error_of_the_site(
    marketplace: Marketplace, path: str, body: str, kind: str
) -> None:
    headers = {"Content-Type": kind, "Cookie": f"marketplace_csrf={'a' * 32}"}
    answer = marketplace.http.post(path, content=body, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text

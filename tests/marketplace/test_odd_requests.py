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
    with marketplace.visitor() as visitor:  # whose connection may be closed on what was not read
        visitor.get("/login")  # for the cookie
        answer = visitor.post(path, content=body, headers={"Content-Type": kind})
    assert 400 <= answer.status_code < 500, answer.text


@pytest.mark.parametrize("path", ["/tasks/3HIT/accept", "/kinds/3GROUP/accept", "/logout", "/operator/workers/invite"])
def test_an_address_that_only_takes_forms_is_a_page_with_a_way_on(marketplace: Marketplace, path: str) -> None:
    answer = marketplace.http.get(path)

    assert (answer.status_code, "POST" in answer.headers["Allow"]) == (405, True)
    assert "<h1>Nothing to see here</h1>" in answer.text
    assert 'href="/"' in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert marketplace.http.request("HEAD", path).content == b""


@pytest.mark.parametrize(("method", "path"), [("PUT", "/"), ("GET", "/extensions/count-workers")])
def test_programs_get_the_bare_status(marketplace: Marketplace, method: str, path: str) -> None:
    answer = marketplace.http.request(method, path)

    assert (answer.status_code, answer.content) == (405, b"")

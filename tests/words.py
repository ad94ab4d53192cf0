"""The words of a page, as they are read."""

import re
from html import unescape

from django.test import Client


def text_of(client: Client, address: str) -> str:
    """A page's words, without its tags and drawings."""
    answer = client.get(address)
    assert answer.status_code == 200, address
    html = re.sub(r"<svg.*?</svg>", "", answer.content.decode(), flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())

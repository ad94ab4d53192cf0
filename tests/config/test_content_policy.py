"""No page has what the content policy blocks: styles, scripts or handlers within the page."""

import re
from pathlib import Path

from allauth import __file__ as allauth
from django.template.loader import get_template

from tests.conftest import REPOSITORY

BLOCKED = re.compile(
    r"""<style|\sstyle\s*=|\son[a-z]+\s*=\s*["']|<script(?![^>]*\bsrc=)(?![^>]*application/(?:ld\+)?json)|javascript:"""
)
# A report is a file of its own, which is downloaded. Phone numbers of accounts are not asked for here.
EXCEPT = {"results/report/index.html", "account/phone_change.html"}


def test_no_template_has_an_inline_style_script_or_handler() -> None:
    folders = [REPOSITORY / "templates", REPOSITORY / "marketplace" / "templates", Path(allauth).parent / "templates"]
    names = {str(file.relative_to(folder)): folder for folder in folders for file in folder.rglob("*.html")}
    assert len(names) > 250
    blocked = []
    for name, folder in sorted(names.items()):
        # of several templates of one name, that which the site shows
        text = (folder / name).read_text() if folder == folders[1] else get_template(name).template.source
        blocked += [f"{name}: {hit.group()}" for hit in BLOCKED.finditer(text) if name not in EXCEPT]
    assert not blocked

"""A percentage is written in one way, wherever people read it."""

import re

from tests.conftest import REPOSITORY
from tests.docstrings import sources

_SPACE = r"(?:\s|\\xa0|\\u00a0|\\u202f|\\N\{NO-BREAK SPACE\}|&nbsp;)"
# A number or its place, a space, and a percent sign that begins no place: `5 %`, `{{ share }} %`, `%(share).1f %%`.
SPACED = re.compile(rf"(?:\d|\}}|\)[.\d]*[sdfg]){_SPACE}(?:\\?%%|\\%|%(?![\d(%\w{{}}.-]))")
TAG = re.compile(r"{%.*?%}|{#.*?#}")


def test_no_space_stands_between_a_number_and_its_percent_sign() -> None:
    assert SPACED.search("5 %, ") and SPACED.search("{{ share }} % of") and SPACED.search(r"%(share).1f\u00a0%%)")
    assert SPACED.search(r"75.0 \%*") and not SPACED.search("5%, %(low)d %(high)s, {count:d} %s")
    texts = {
        name: (REPOSITORY / name).read_text() for name in sources() if not name.startswith(("tests/", "benchmarks/"))
    }
    for pattern in ("*.md", "docs/**/*.md", "static/**/*.js", "**/locale/**/en/**/*.po"):
        texts |= {str(path): path.read_text() for path in REPOSITORY.glob(pattern)}
    for path in [*REPOSITORY.glob("templates/**/*.html"), *REPOSITORY.glob("marketplace/templates/**/*.html")]:
        texts[str(path)] = TAG.sub("", path.read_text())
    assert len(texts) > 500
    spaced = [f"{name}: {match[0]}" for name, text in texts.items() for match in SPACED.finditer(text)]
    assert spaced == []

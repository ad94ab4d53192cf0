"""Which suggested test pairs a person was shown with both passages, on the page or through the API. Only these can they
confirm. It is remembered for some weeks, and not stored: whoever has to read one again loses nothing.
"""

from collections.abc import Iterable

from django.core.cache import cache
from django.utils.translation import ngettext

from core.models import User
from tasks.models import TestPair

MOST = 2000  # of one person
REMEMBERED = 30 * 24 * 3600  # seconds


def tests_opened(by: User) -> list[int]:
    """Their keys, the latest last."""
    opened: list[int] = cache.get(_key(by)) or []
    return opened


def test_open(*, key: int, by: User) -> None:
    """The person is shown this one now."""
    opened = tests_opened(by)
    if key not in opened:
        cache.set(_key(by), [*opened, key][-MOST:], REMEMBERED)


def unread_reason(test_pairs: Iterable[TestPair], by: User) -> str:
    """Why these are not confirmed together; empty if all were opened."""
    opened = set(tests_opened(by))
    unread = sum(test.pk not in opened for test in test_pairs)
    if not unread:
        return ""
    text = ngettext(
        "%(count)d test pair has not been confirmed, as you have not opened it here. Read both its passages first.",
        "%(count)d test pairs have not been confirmed, as you have not opened them here. Read both passages of "
        "each first.",
        unread,
    )
    return text % {"count": unread}


def _key(by: User) -> str:
    return f"test pairs that account {by.pk} has opened"

"""Where a message waits for the page that shows it: in a cookie of this site, or in the session if it is long."""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage


class _Cookie(CookieStorage):
    cookie_name = f"messages-{settings.COOKIE_MARK}"


class Messages(FallbackStorage):
    storage_classes = (_Cookie, SessionStorage)

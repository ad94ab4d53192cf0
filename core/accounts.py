"""How allauth is used here: accounts come by invitation alone, and addresses are what the proxy says."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest

from core.addresses import client_address


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Nobody signs up without an invitation (core/people.py), with OpenID Connect neither."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address that all limits count by."""
        return client_address(request)

"""Django's own tag for the CSRF token, in every template: it says as well whom the form is shown to."""

from django import template
from django.conf import settings
from django.template.base import Parser, Token
from django.template.context import Context
from django.template.defaulttags import CsrfTokenNode
from django.utils.html import format_html

from ui.typed import FIELD, sign

register = template.Library()


class _TokenNode(CsrfTokenNode):
    def render(self, context: Context) -> str:
        token, user = super().render(context), context.get("user")
        if not token or user is None or not user.is_authenticated:
            return token
        return token + format_html('<input type="hidden" name="{}" value="{}">', FIELD, sign(user))


@register.tag
def csrf_token(parser: Parser, token: Token) -> _TokenNode:
    """The hidden fields of a form that is sent."""
    return _TokenNode()


@register.simple_tag
def csrf_cookie() -> str:
    """The name of the cookie with the token, for scripts."""
    return str(settings.CSRF_COOKIE_NAME)

"""The app."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """Tokens, stored answers and webhooks."""

    name = "api"
    verbose_name = "API"

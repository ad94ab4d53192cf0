"""The marketplace as a Django app."""

from django.apps import AppConfig


class MarketplaceConfig(AppConfig):
    """The one app of the marketplace's project."""

    name = "marketplace"
    label = "marketplace"
    default_auto_field = "django.db.models.BigAutoField"

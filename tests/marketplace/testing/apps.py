"""The tests' app, and the places in the product that it takes."""

from django.apps import AppConfig
from django.db.models.signals import pre_save


class TestingConfig(AppConfig):
    """Replaces the marketplace's clock and its sender's threads, and gives returned assignments' ids out again."""

    name = "tests.marketplace.testing"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Take them, in every process that is started with our settings."""
        from marketplace import clock
        from marketplace.models import Assignment
        from marketplace.services import delivery
        from tests.marketplace.testing import behaviour

        clock.now = behaviour.now
        delivery.ThreadPoolExecutor = behaviour.Threads
        pre_save.connect(behaviour.give_out_again, sender=Assignment)

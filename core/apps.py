from django.apps import AppConfig
from django.db.backends.signals import connection_created


class CoreConfig(AppConfig):
    name = "core"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have every connection say who acts, and log-ins noted."""
        from core.audit import logins, origin  # noqa: F401

        connection_created.connect(origin.install, dispatch_uid="audit")

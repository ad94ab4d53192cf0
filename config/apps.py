from django.apps import AppConfig
from django.conf import settings


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        """Have every thread of web servers and commands hand jobs to the site's queue.

        Celery's own default application, which they would have otherwise, knows no broker of ours.
        """
        from config.celery import app

        app.set_default()
        if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
            from config import tracing

            tracing.install()

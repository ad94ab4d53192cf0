from django.apps import AppConfig


class PlatformsConfig(AppConfig):
    name = "platforms"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks, and look after what campaigns take from templates."""
        from platforms import checks  # noqa: F401
        from platforms.templating import follow_template
        from pools.templating import template_taken

        template_taken.connect(follow_template)

from django.apps import AppConfig


class ResultsConfig(AppConfig):
    name = "results"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Follow which runs are held back."""
        from results.showing import follow
        from runs.changes import release_changed

        release_changed.connect(follow)

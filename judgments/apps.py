from django.apps import AppConfig


class JudgmentsConfig(AppConfig):
    name = "judgments"
    verbose_name = "Judgments and quality"

    def ready(self) -> None:
        """Tell those who pack and price campaigns where reused judgments come from."""
        from judgments import reusing
        from pools import reuse

        reuse.register(reusing)

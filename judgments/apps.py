from django.apps import AppConfig


class JudgmentsConfig(AppConfig):
    name = "judgments"
    verbose_name = "Judgments and quality"

    def ready(self) -> None:
        """Tell those who pack and price campaigns where reused judgments come from."""
        from judgments import importing, reusing
        from pools import reuse
        from runs import background
        from runs.models import Job

        reuse.register(reusing)
        background.register(Job.Kind.JUDGMENTS, importing.job_do)

from django.apps import AppConfig


class PoolsConfig(AppConfig):
    name = "pools"
    verbose_name = "Campaigns, pools and versions"

    def ready(self) -> None:
        """Follow what changes in collections, and tell the job that reads files how preferences are imported."""
        from pools import following, preference_imports
        from runs import background
        from runs.models import Job

        following.connect()
        background.register(Job.Kind.PREFERENCES, preference_imports.job_do)

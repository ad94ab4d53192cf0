from django.apps import AppConfig


class CampaignsConfig(AppConfig):
    name = "campaigns"
    verbose_name = "Making and changing campaigns"

    def ready(self) -> None:
        """Tell the job that does what members ask for how campaigns are drawn up."""
        from campaigns import draft_jobs
        from runs import background
        from runs.models import Job

        background.register(Job.Kind.CAMPAIGN, draft_jobs.job_do)

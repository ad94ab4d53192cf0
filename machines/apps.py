from django.apps import AppConfig


class MachinesConfig(AppConfig):
    name = "machines"
    verbose_name = "Machine judges"

    def ready(self) -> None:
        """Tell the job that reads files how answers of machines are imported."""
        from machines import answers
        from runs import background
        from runs.models import Job

        background.register(Job.Kind.MACHINE, answers.job_do)

from django.apps import AppConfig


class TasksConfig(AppConfig):
    name = "tasks"
    verbose_name = "Test pairs, HITs and workers"

    def ready(self) -> None:
        """Tell the audit what workers are called."""
        from core.audit import selectors as audit_selectors
        from tasks.names import worker_names

        audit_selectors.register(worker_names)

from django.apps import AppConfig


class TasksConfig(AppConfig):
    name = "tasks"
    verbose_name = "Test pairs, HITs and workers"

    def ready(self) -> None:
        """Look after test pairs when a draft gets other pools, and tell the audit what workers are called."""
        from core.audit import selectors as audit_selectors
        from pools.drafting import pools_remade
        from tasks.names import worker_names
        from tasks.pair_upkeep import follow_pools

        pools_remade.connect(follow_pools)
        audit_selectors.register(worker_names)

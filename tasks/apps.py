from django.apps import AppConfig


class TasksConfig(AppConfig):
    name = "tasks"
    verbose_name = "Test pairs, HITs and workers"

    def ready(self) -> None:
        """Look after test pairs when a draft gets other pools."""
        from pools.drafting import pools_remade
        from tasks.pair_upkeep import follow_pools

        pools_remade.connect(follow_pools)

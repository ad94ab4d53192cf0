from django.apps import AppConfig


class SimulationConfig(AppConfig):
    name = "simulation"
    default_auto_field = "django.db.models.BigAutoField"

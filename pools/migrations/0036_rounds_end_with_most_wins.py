from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def name_how_winners_are_found(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("pools", "Campaign").objects.filter(design="rounds").update(method="most-wins")


class Migration(migrations.Migration):
    dependencies = [("pools", "0035_rounds")]

    operations = [migrations.RunPython(name_how_winners_are_found, migrations.RunPython.noop, elidable=True)]

"""Challengers are confirmed by probability; the campaigns that are there go on by majority."""

from decimal import Decimal

import django.core.validators
from django.db import migrations, models

LEVEL = models.DecimalField(
    blank=True,
    decimal_places=3,
    default=Decimal("0.9"),
    help_text="Asking again ends earlier once it is this probable which of the two is better, by earlier judgments and by "
    "this pair’s own. Leave empty for the majority alone.",
    verbose_name="Probability that confirms a challenger",
    max_digits=4,
    null=True,
    validators=[
        django.core.validators.MinValueValidator(Decimal("0.5")),
        django.core.validators.MaxValueValidator(Decimal("0.999")),
    ],
)


class Migration(migrations.Migration):
    dependencies = [("pools", "0001_initial")]

    operations = [
        migrations.AddField("campaign", "confirm_level", models.DecimalField(null=True, decimal_places=3, max_digits=4)),
        migrations.AlterField("campaign", "confirm_level", LEVEL),
        migrations.AddField(
            "campaign",
            "error_model",
            models.JSONField(
                editable=False,
                help_text="How people judge, of challengers: as learned, when their pairs were planned, from what was judged.",
                null=True,
            ),
        ),
    ]

"""The share of pairs that a worker can report is asked for in percent; what is stored is the same."""

from decimal import Decimal

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pools", "0002_confirm_level")]

    operations = [
        migrations.AlterField(
            model_name="campaign",
            name="report_share",
            field=models.DecimalField(
                decimal_places=3,
                default=Decimal("0.250"),
                help_text="Workers can say that something is wrong with a pair. Work that reports more than this share "
                "waits for you. It is paid like any other.",
                max_digits=4,
                validators=[
                    django.core.validators.MinValueValidator(Decimal(0)),
                    django.core.validators.MaxValueValidator(Decimal(1)),
                ],
                verbose_name="Share of pairs that a worker can report",
            ),
        )
    ]

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models

from core.audit.triggers import CHANGES, LAB, record_changes


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('core', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Retention',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('worker_days', models.PositiveIntegerField(blank=True, help_text="From a worker's last work, once all their campaigns are closed and everything is paid.", null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(36500)])),
                ('audit_days', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(30), django.core.validators.MaxValueValidator(36500)])),
                ('lab', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='retention', to='core.lab')),
            ],
        ),
        migrations.CreateModel(
            name='RetentionResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('erased', models.PositiveIntegerField()),
                ('kept_count', models.PositiveIntegerField()),
                ('kept', models.JSONField(default=list)),
                ('lab', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='retention_result', to='core.lab')),
            ],
        ),
        record_changes("protection_retention", CHANGES, LAB, ignored="lab_id", new_fields=True),
    ]

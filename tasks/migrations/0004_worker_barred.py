from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tasks', '0003_booked'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='worker',
            index=models.Index(condition=models.Q(('barred_at__isnull', False)), fields=['lab'], name='worker_barred'),
        ),
    ]

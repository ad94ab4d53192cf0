"""Secrets of access keys are stored, encrypted. Those that follow from MARKETPLACE_SECRET_KEY stay what they are."""

import base64
import hashlib
import hmac

from django.conf import settings
from django.db import migrations, models

from marketplace.sealing import seal


def store(apps, _schema_editor):
    keys = apps.get_model('marketplace', 'AccessKey')
    for key in keys.objects.all():
        text = f'marketplace access key\0{key.key_id}'.encode()
        derived = hmac.digest(settings.SECRET_KEY.encode(), text, hashlib.sha256)
        key.sealed_secret = seal(base64.b64encode(derived).decode()[:40])
        key.save(update_fields=['sealed_secret'])


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0002_relations'),
    ]

    operations = [
        migrations.AddField(
            model_name='accesskey',
            name='sealed_secret',
            field=models.TextField(default='', editable=False),
            preserve_default=False,
        ),
        migrations.RunPython(store, migrations.RunPython.noop),
    ]

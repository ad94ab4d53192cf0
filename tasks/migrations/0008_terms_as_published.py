from datetime import timedelta
from decimal import Decimal

from django.db import migrations

TERMS = (
    "environment pay base requirements title description keywords lifetime assignment_duration auto_approval "
    "approve_after rate"
).split()


def _plain(value):
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value) if isinstance(value, Decimal) else value


def keep(apps, _schema_editor):
    """What is published has its terms as version 1, and its HITs are under their HIT type."""
    Publication = apps.get_model("tasks", "Publication")
    TermsVersion = apps.get_model("tasks", "TermsVersion")
    Posting = apps.get_model("tasks", "Posting")
    for publication in Publication.objects.exclude(state="draft"):
        TermsVersion.objects.create(
            publication=publication,
            version=1,
            values={name: _plain(getattr(publication, name)) for name in TERMS},
            hit_type_id=publication.hit_type_id,
            at=publication.published_at,
        )
        postings = Posting.objects.filter(publication=publication, hit__isnull=False).exclude(venue_hit_id="")
        postings.update(hit_type_id=publication.hit_type_id)


class Migration(migrations.Migration):
    dependencies = [("tasks", "0007_terms_versions")]

    operations = [migrations.RunPython(keep, migrations.RunPython.noop)]

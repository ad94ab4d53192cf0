from django.db import migrations, models


def count(apps, editor):
    """What pools.services counts when it reads queries and qrels, of those that were read before it did."""
    for collection in apps.get_model("pools", "Collection").objects.all():
        words = [len(text.split()) for text in collection.queries.exclude(text="").values_list("text", flat=True).iterator()]
        if words:
            collection.statistics["queries"] = {"count": len(words), "mean_words": sum(words) / len(words)}
        if judgments := collection.qrels.count():
            collection.statistics["qrels"] = {
                "judgments": judgments,
                "queries": collection.qrels.values("query").distinct().count(),
                "relevant": collection.qrels.filter(grade__gt=0).count(),
            }
        collection.save(update_fields=["statistics"])


class Migration(migrations.Migration):

    dependencies = [
        ('pools', '0029_other_measures'),
    ]

    operations = [
        migrations.AddField(
            model_name='collection',
            name='statistics',
            field=models.JSONField(blank=True, default=dict, help_text='Of queries, original qrels and corpus, counted when their files are read: pools.services.'),
        ),
        migrations.RunPython(count, migrations.RunPython.noop),
    ]

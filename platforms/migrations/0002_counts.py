from django.db import migrations, models

from pools.counting import keep_counts

OF_PUBLICATION = "(SELECT campaign_id FROM platforms_publication WHERE id = publication_id)"
OF_HIT = (
    "(SELECT publication.campaign_id FROM platforms_publishedhit published "
    "JOIN platforms_publication publication ON publication.id = published.publication_id "
    "WHERE published.id = published_hit_id AND published.hit_id IS NOT NULL)"
)


class Migration(migrations.Migration):

    dependencies = [
        ('platforms', '0001_initial'),
        ('pools', '0002_counts'),
    ]

    operations = [
        keep_counts(
            "payments",
            "platforms_payment",
            "concat_ws('/', purpose, state)",
            campaign=OF_PUBLICATION,
            amount="amount",
            fee="fee",
        ),
        keep_counts(
            "published",
            "platforms_publishedhit",
            "concat_ws('/', least(round, 2), (platform_hit_id <> '')::int)",
            campaign=f"CASE WHEN hit_id IS NOT NULL THEN {OF_PUBLICATION} END",
            amount="CASE round WHEN 1 THEN added ELSE max_assignments END",
        ),
        keep_counts("submissions", "platforms_submission", "status", campaign=OF_HIT),
        keep_counts("marked", "platforms_handpayment", "''", amount="amount"),
        keep_counts("calls", "platforms_operation", "state", campaign=OF_PUBLICATION),
        migrations.AddIndex(
            model_name='operation',
            index=models.Index(condition=models.Q(models.Q(('state__in', ['planned', 'sent']), models.Q(('error', ''), _negated=True)), ('state__in', ['unknown', 'refused']), _connector='OR'), fields=['publication'], name='operation_in_trouble'),
        ),
    ]

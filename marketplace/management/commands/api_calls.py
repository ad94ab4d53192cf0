"""What a key did."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from marketplace.models import AccessKey, ApiCall


class Command(BaseCommand):
    help = "Print every call of the last 90 days that was signed with a key, oldest first, as tab-separated values."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("key_id")

    def handle(self, *_args: Any, key_id: str, **_options: Any) -> None:
        key = AccessKey.objects.filter(key_id=key_id).first()
        if key is None:
            raise CommandError(f"There is no access key {key_id}.")
        self.stdout.write("at\toperation\tsubject\toutcome\trequest_id")
        for call in ApiCall.objects.filter(key=key).order_by("pk").iterator():
            columns = (call.at.isoformat(), call.operation, call.subject, call.outcome or "done", call.request_id)
            self.stdout.write("\t".join(columns))

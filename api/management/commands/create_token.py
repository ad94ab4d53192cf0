"""manage.py create_token: a token for the API."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from api.models import Scope
from api.tokens import token_create
from core.comparing import compared
from core.management.files import refusals_as_errors
from core.models import User


class Command(BaseCommand):
    """Make a token, and print it: it is not stored."""

    help = "Create a token for the REST API in somebody's name, and print it. It is not stored, and never shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="the user name of its owner")
        parser.add_argument("--name", default="command line", help="what it is for (command line)")
        parser.add_argument("--scopes", nargs="+", choices=Scope.values, default=[Scope.READ.value])
        parser.add_argument("--days", type=int, default=90, help="for how long it is valid (90)")
        parser.add_argument("--json", action="store_true", help="print name, scopes and expiry too, as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username_key=compared(options["user"]), is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user called {options['user']}.")
        chosen = {name: options[name] for name in ("name", "scopes", "days")}
        with refusals_as_errors():
            token, text = token_create(user=user, at=timezone.now(), **chosen)
        if options["json"]:
            content = {"token": text, "name": token.name, "scopes": token.scopes}
            text = json.dumps(content | {"expires_at": token.expires_at.isoformat()})
        self.stdout.write(text)

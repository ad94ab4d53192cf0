"""manage.py create_lab: a lab, and its first admin."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.core.validators import validate_email
from django.utils import timezone

from core.comparing import compared
from core.labs import lab_create
from core.management.command import SiteCommand
from core.models import User
from core.people import invitation_address


class Command(SiteCommand):
    help = (
        "Create a lab. Somebody with an account becomes its first admin, or invites whoever is to be: the link of the "
        "invitation is printed, and nothing is mailed."
    )
    writes_rows = True

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="what the lab is called")
        parser.add_argument("user", help="the user name of its first admin; with --invite, of whoever invites them")
        parser.add_argument("--invite", metavar="EMAIL", help="invite this address as the first admin")

    def work(self, **options: Any) -> Mapping[str, Any]:
        user = User.objects.filter(username_key=compared(options["user"]), is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user called {options['user']}.")
        if options["invite"] is not None:
            try:
                validate_email(options["invite"])
            except ValidationError as error:
                raise CommandError(f"{options['invite']} is no e-mail address.") from error
        lab, invitation = lab_create(name=options["name"], by=user, invited=options["invite"], at=timezone.now())
        link = None if invitation is None else invitation_address(invitation)
        self.say(f"The lab “{lab}” has been created." if link is None else f"The lab “{lab}” has been created: {link}")
        return {"lab": lab.pk, "name": lab.name, "invitation": link}

"""manage.py lab_templates: a lab's templates, its default, and its pay floor."""

from argparse import ArgumentParser, ArgumentTypeError
from decimal import Decimal, InvalidOperation
from typing import Any

from django.db import transaction
from django.utils import timezone

from core.labs import pay_floor_set
from core.management.command import SiteCommand
from core.money import dollars
from platforms.templating import template_save
from pools.management.lookup import campaign_called, lab_called
from pools.templating import (
    template_called,
    template_change,
    template_default_set,
    template_delete,
)

NONE = "none"


class Command(SiteCommand):
    help = (
        "List a lab's templates and its pay floor, or change them. A template keeps a campaign's settings, wording, "
        "pay and terms at a platform; manage.py create_campaign --template begins a campaign with it."
    )

    writes_rows = True

    def add_options(self, parser: ArgumentParser) -> None:
        """The command's own arguments. Without one, nothing is changed."""
        parser.add_argument("lab", help="the lab's name")
        parser.add_argument("--save", nargs=2, metavar=("CAMPAIGN", "NAME"), help="keep a campaign as a template")
        parser.add_argument("--rename", nargs=2, metavar=("NAME", "TO"), help="give a template another name")
        parser.add_argument("--delete", metavar="NAME", help="delete a template; campaigns stay as they are")
        parser.add_argument("--default", metavar="NAME", help="what the page of a new campaign begins with, or none")
        parser.add_argument(
            "--pay-floor", type=_floor, help="dollars an hour below which no campaign can be started, or none"
        )

    @transaction.atomic
    def work(self, **options: Any) -> dict[str, Any]:
        """Change what the options say, and list what there is then."""
        lab, at = lab_called(options["lab"]), timezone.now()
        if options["save"]:
            campaign, name = options["save"]
            template_save(campaign=campaign_called(campaign, lab.name), name=name, by=None, at=at)
        if options["rename"]:
            name, to = options["rename"]
            template_change(template=template_called(lab, name), name=to, at=at)
        if options["delete"]:
            template_delete(template=template_called(lab, options["delete"]))
        if options["default"]:
            name = options["default"]
            template_default_set(lab=lab, template=None if name == NONE else template_called(lab, name))
        if options["pay_floor"]:
            floor = options["pay_floor"]
            pay_floor_set(lab=lab, pay_floor=None if floor == NONE else floor)
        self.say(f"Pay floor of {lab}: {'none' if lab.pay_floor is None else f'{dollars(lab.pay_floor)} an hour'}.")
        fields = ("name", "is_default", "values", "consent", "terms", "changed_at")
        templates = list(lab.templates.order_by("name").values(*fields))
        for template in templates:
            self.say(f"  {template['name']}{' (default)' if template['is_default'] else ''}")
        return {"pay_floor": lab.pay_floor, "templates": templates}


def _floor(text: str) -> Decimal | str:
    if text == NONE:
        return NONE
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(0)
    if not amount.is_finite() or amount <= 0:
        raise ArgumentTypeError(f"{text!r} is neither an amount such as 12.00 nor none")
    return amount

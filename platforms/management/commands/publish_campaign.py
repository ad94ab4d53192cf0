"""manage.py publish_campaign: publish an open campaign at a platform, or print what that would send and cost."""

import json
from argparse import ArgumentParser
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from core.management.command import SiteCommand
from core.management.files import reporting_to
from evaluation.files.textfiles import counted
from platforms.bills import remaining_bill, rounds_forecast
from platforms.management.platforms import DEMANDED, bill_facts, platform_errors, requirements_read
from platforms.models import PUBLISHED_TO, Publication
from platforms.outbox import operations_run
from platforms.publishing import (
    dry_run,
    publication_extend,
    publication_pause,
    publication_plan,
    publication_publish,
    publication_resume,
    publication_stop,
    publication_write,
    publishing_progress,
)
from platforms.reach import reach_look
from pools.management.lookup import campaign_called
from tasks.management.pay import pay_lines
from tasks.models import Platform


class Command(SiteCommand):
    writes_rows = True
    dry_run_help = "print the exact requests and the bill, or what else was asked for, send nothing, and change nothing"
    help = (
        "Publish an open campaign at a platform that speaks the Mechanical Turk API. If run again, it continues "
        "where it stopped. Access keys come from the environment or an AWS profile."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--platform", choices=PUBLISHED_TO, help="default: marketplace")
        parser.add_argument(
            "--pay",
            choices=Publication.Pay.values,
            help="default: return-and-compensate at our own marketplace, else base-and-bonus",
        )
        parser.add_argument("--base", type=Decimal, help="the listed reward for base-and-bonus")
        parser.add_argument("--rate", type=float, help="calls per second")
        parser.add_argument("--requirements", help=DEMANDED)
        parser.add_argument(
            "--although-nobody-qualifies",
            action="store_true",
            help="publish even if the marketplace says that no active worker meets the requirements",
        )
        parser.add_argument("--name", default="", help="the campaign's name again, to confirm publishing in production")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--pause", action="store_true", help="publish nothing more, and end open HITs")
        what.add_argument("--stop", action="store_true", help="like --pause, and pay nothing until resumed")
        what.add_argument("--resume", action="store_true", help="continue after a pause or stop")
        what.add_argument("--extend-days", type=int, help="keep HITs that need work open for this many days from now")

    def work(self, **options: Any) -> dict[str, Any]:
        at, dry = timezone.now(), options["dry_run"]
        facts: dict[str, Any] = {}
        with platform_errors():
            campaign = campaign_called(options["campaign"], options["lab"])
            terms = {name: options[name] for name in ("platform", "pay", "base", "rate") if options[name] is not None}
            known = Publication.objects.filter(campaign=campaign).first()
            if options["requirements"]:
                platform = options["platform"] or (known.platform if known else Platform.MARKETPLACE)
                terms["requirements"] = requirements_read(options["requirements"], platform, campaign.lab_id)
            changes = known is None or known.state == Publication.State.DRAFT or terms
            publication = publication_write(campaign=campaign, **terms) if changes or known is None else known
            if options["pause"]:
                publication = publication_pause(publication=publication, at=at)
            elif options["stop"]:
                publication = publication_stop(publication=publication, at=at)
            elif options["resume"]:
                publication = publication_resume(publication=publication, at=at)
            elif options["extend_days"]:
                until = at + timedelta(days=options["extend_days"])
                publication_extend(publication=publication, until=until, at=at)
            elif dry:
                facts["requests"] = [{"operation": name, "request": request} for name, request in dry_run(publication)]
                for request in facts["requests"]:
                    self.say(f"{request['operation']} {json.dumps(request['request'], ensure_ascii=False)}")
                facts |= self._bill(publication)
            else:
                if publication.state == Publication.State.DRAFT:
                    facts |= self._bill(publication)
                publication = publication_publish(
                    publication=publication,
                    at=at,
                    typed_name=options["name"],
                    although_nobody_qualifies=options["although_nobody_qualifies"],
                )
            if not dry:
                self._send(publication)
            publication.refresh_from_db()
        progress = publishing_progress(publication)
        self.say(f"Publication of {publication.campaign.name}: {publication.get_state_display()}.")
        return {
            "campaign": campaign.pk,
            "platform": publication.platform,
            "state": publication.state,
            "posted": progress.posted,
            "to_go": progress.on_their_way + progress.unplanned,
            "refused": progress.refused,
            **facts,
        }

    def _bill(self, publication: Publication) -> dict[str, Any]:
        owed, reach, money = remaining_bill(publication), reach_look(publication), publication.campaign.money
        lines = ", ".join(f"{line.what.lower()} {money(line.amount)}" for line in owed.lines)
        self.say(
            f"{owed.hits:,} HITs, {owed.assignments:,} assignments: {money(owed.total)} if all is finished: {lines}."
        )
        forecast = rounds_forecast(publication)
        if forecast and publication.campaign.hits.exists():
            self.say(
                "This is the bill for the HITs that are packed so far. All rounds are expected to ask "
                f"{forecast.pairs:,} pairs in {counted(forecast.rounds, 'round')}: about {money(forecast.bill.total)}."
            )
        for line in pay_lines(publication.campaign, publication.assignment_duration):
            self.say(line)
        self.say(reach.sentence)
        expected = {"expected": bill_facts(forecast.bill)} if forecast else {}
        return {"bill": bill_facts(owed), **expected, "workers": {"qualified": reach.qualified, "active": reach.active}}

    def _send(self, publication: Publication) -> None:
        """Make what is planned and due; what must wait is left to the background jobs."""
        with reporting_to(self.stderr) as report:
            while True:
                planned = publication_plan(publication_id=publication.pk, at=timezone.now())
                calls = operations_run(publication=publication)
                if not planned and not calls:
                    break
                progress = publishing_progress(publication)
                left = progress.on_their_way + progress.unplanned
                report("Publishing HITs", progress.posted, progress.posted + left)
        progress = publishing_progress(publication)
        left = progress.on_their_way + progress.unplanned
        self.say(f"{progress.posted:,} HITs published, {left:,} to go, {progress.refused:,} refused.")

"""manage.py ask_machine: have a machine asked about a campaign's pairs, at the site's endpoint."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from core.management.command import SiteCommand
from core.management.files import input_path
from evaluation.files.textfiles import counted
from judgments import machine_asking
from judgments.models import MachineAsking
from pools.management.lookup import campaign_called, user_called


class Command(SiteCommand):
    """Ask a machine, stop asking it, or say how far it is."""

    writes_rows = True
    help = (
        "Have a machine, such as a language model, asked about all pairs of a campaign in both orders, at the endpoint "
        "of MACHINE_API_URL. A job asks, and never the same twice; the answers are compared with people's judgments, "
        "and never counted among them. Without --name, it lists the machines that are, or were, asked."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--name", help="what the machine judge is to be called")
        parser.add_argument("--model", help="which model is asked, as the endpoint calls it")
        parser.add_argument("--budget", type=int, help="how many questions may be asked: two for each pair is all")
        parser.add_argument(
            "--prompt",
            type=input_path,
            help="a file with what it is told, with {query}, {first} and {second}; default: a plain question",
        )
        parser.add_argument("--stop", action="store_true", help="ask the machine of this --name nothing more")
        parser.add_argument("--by", metavar="USER", help="the user name of whoever has it asked")

    def work(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_called(options["campaign"], options["lab"])
        if not options["name"]:
            if given := [name for name in ("model", "budget", "prompt", "stop") if options[name]]:
                raise CommandError(f"--{given[0]} needs a --name.")
            askings = list(campaign.machine_askings.order_by("id"))
            for asking in askings:
                self.say(_line(asking))
            if not askings:
                self.say("No machine was asked about this campaign.")
            return {"campaign": campaign.pk, "askings": [_facts(asking) for asking in askings]}
        if options["stop"]:
            named = campaign.machine_askings.filter(name=options["name"]).order_by("id").last()
            if named is None:
                raise CommandError(f"No machine called {options['name']} was asked about this campaign.")
            asking = named
            machine_asking.machine_asking_stop(asking=asking, at=timezone.now())
            asking.refresh_from_db()
        else:
            if not options["model"] or options["budget"] is None:
                raise CommandError("To ask a machine, give its --model and a --budget.")
            prompt = options["prompt"]
            asking = machine_asking.machine_asking_start(
                campaign=campaign,
                name=options["name"],
                model=options["model"],
                prompt=prompt.read_text(encoding="utf-8").strip() if prompt else machine_asking.PROMPT,
                budget=options["budget"],
                by=user_called(options["by"]) if options["by"] else None,
                at=timezone.now(),
            )
        self.say(_line(asking))
        return {"campaign": campaign.pk, "askings": [_facts(asking)]}


def _line(asking: MachineAsking) -> str:
    said = (
        f"{asking.name} ({asking.model}): {asking.state}, {asking.asked:,} of {counted(asking.questions, 'question')}"
    )
    return f"{said} asked, at most {asking.budget:,}.{' ' if asking.error else ''}{asking.error}"


def _facts(asking: MachineAsking) -> dict[str, Any]:
    names = ("id", "name", "model", "state", "questions", "asked", "budget", "tokens", "error")
    return {name: getattr(asking, name) for name in names} | {"judge": asking.judge_id}

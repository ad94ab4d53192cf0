"""manage.py adjudicate_pairs: pairs whose judgments disagree: list them, decide on one, take a decision back."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from core.management.command import SiteCommand
from core.models import User
from evaluation.files.textfiles import counted
from judgments import adjudicating
from judgments.models import Adjudication
from pools.management.lookup import campaign_called, user_called
from pools.models import Campaign, Pair


class Command(SiteCommand):
    writes_rows = True
    help = (
        "List the pairs of a campaign whose judgments disagree, and that wait for a decision; or decide on one of them "
        "in a person's name, or take a decision back. Judgments stay as they are."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        """The command's own arguments. Without --decide and --undo, nothing is changed."""
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--all", action="store_true", help="list those that somebody has settled, too")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--decide", type=int, metavar="PAIR", help="decide on a pair, by its number in the list")
        what.add_argument("--undo", type=int, metavar="PAIR", help="take back what was decided on a pair")
        parser.add_argument(
            "--choice", choices=adjudicating.Choice.values, help="with --decide: which passage is better"
        )
        parser.add_argument("--note", default="", help="with --decide: why; exported with the decision")
        parser.add_argument("--replace", action="store_true", help="with --decide: in place of what stands")
        parser.add_argument("--by", metavar="USER", help="the user name of whoever decides")

    def work(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_called(options["campaign"], options["lab"])
        if options["decide"] is None and options["undo"] is None:
            return self._list(campaign, everything=options["all"])
        if not options["by"]:
            raise CommandError("Say who decides, with --by.")
        by, at = user_called(options["by"]), timezone.now()
        pair = adjudicating.pair_of(campaign, options["undo"] if options["decide"] is None else options["decide"])
        standing = Adjudication.objects.filter(pair=pair, undone_at=None).select_related("by").first()
        seen = 0 if standing is None else standing.pk
        if options["decide"] is None:
            if standing is None:
                raise CommandError(f"Nobody has decided on pair {pair.pk}, so there is nothing to take back.")
            adjudicating.adjudication_undo(campaign=campaign, pair=pair, seen=seen, by=by, at=at)
            self.say(f"{_name(pair)}: the decision is taken back, and the judgments count again.")
            return {"campaign": campaign.pk, "pair": pair.pk, "choice": None}
        return self._decide(campaign, pair, standing, by, options)

    def _decide(
        self, campaign: Campaign, pair: Pair, standing: Adjudication | None, by: User, options: dict[str, Any]
    ) -> dict[str, Any]:
        if not options["choice"]:
            raise CommandError(f"Say what is decided, with --choice: {', '.join(adjudicating.Choice.values)}.")
        is_other = standing is not None and (standing.choice, standing.note) != (options["choice"], options["note"])
        if is_other and not options["replace"]:
            raise CommandError(f"{_name(pair)}: {_decision(standing)}. To decide otherwise, say --replace.")
        decided = adjudicating.pair_adjudicate(
            campaign=campaign,
            pair=pair,
            choice=options["choice"],
            note=options["note"],
            seen=0 if standing is None else standing.pk,
            by=by,
            at=timezone.now(),
        )
        self.say(f"{_name(pair)}: {_decision(decided)}.")
        return {"campaign": campaign.pk, "pair": pair.pk, "choice": decided.choice, "note": decided.note}

    def _list(self, campaign: Campaign, *, everything: bool) -> dict[str, Any]:
        found = adjudicating.disagreements(campaign)
        rows = adjudicating.disagreement_rows(list(found if everything else found.filter(decided=None)))
        if not rows:
            self.say("No pair waits for a decision." if not everything else "No judgments disagree.")
        facts = []
        for row, decided in rows:
            pair, what = row.pair, "waits" if decided is None else _decision(decided)
            self.say(f"{_name(pair)}: {counted(row.for_a, 'judgment')} for a, {row.for_b:,} for b; {what}.")
            facts.append(
                {
                    "pair": pair.pk,
                    "query": pair.pool.query.qid,
                    "a": pair.a.pid,
                    "b": pair.b.pid,
                    "for_a": row.for_a,
                    "for_b": row.for_b,
                    "choice": decided and decided.choice,
                    "note": decided and decided.note,
                    "by": decided and decided.by.get_username(),
                    "at": decided and decided.at,
                }
            )
        return {"campaign": campaign.pk, "pairs": facts}


def _name(pair: Pair) -> str:
    return f"{pair.pk} (query {pair.pool.query.qid}, a {pair.a.pid}, b {pair.b.pid})"


def _decision(decided: Adjudication | None) -> str:
    return "" if decided is None else f"decided by {decided.by}: {decided.choice}"

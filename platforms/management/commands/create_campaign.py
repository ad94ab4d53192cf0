"""manage.py create_campaign: a draft campaign from runs and settings, with what it would cost."""

from argparse import ArgumentParser, ArgumentTypeError
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db.models import BooleanField, DecimalField, Field, IntegerField

from core.management.command import SiteCommand
from core.management.files import reporting_to
from evaluation.files.textfiles import TextFile, counted
from platforms.bills import campaign_bill
from platforms.management.platforms import bill_facts
from platforms.publishing import publication_likely
from pools import selectors as pool_selectors
from pools.management.lookup import collection_called
from pools.models import Campaign
from pools.reuse import reused_pairs
from pools.templating import campaign_create_from, template_called
from tasks.management.pay import pay_lines

SETTINGS = (
    "order depth min_grade qrel_policy design champion_qrel partners finalists rounds_wait rounds_budget "
    "selection sample_size seed overlap repeats confirmations reuse pairs_per_hit "
    "tests_per_hit fill_last_hit hits_per_worker leaves_per_worker minutes_per_hit report_share "
    "reports_per_pair practice practice_right exclusion partial method weighing error_rate "
    "compare_depth comparisons baseline teams_apart rank_by correction margin measures reward fee_rate redo_rate "
    "language title question"
).split()


class Command(SiteCommand):
    writes_rows = True
    help = (
        "Create a draft campaign from a collection's runs and print its pools, pairs, HITs and cost. "
        "To start it, confirm test pairs on the campaign's page (or run manage.py "
        "import_test_pairs), then run manage.py start_campaign."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        """The command line: one option for each setting of a campaign."""
        parser.add_argument("collection", help="the collection's name")
        parser.add_argument("name", help="the campaign's name")
        parser.add_argument("--lab", help="the collection's lab, if several labs have a collection with this name")
        parser.add_argument("--runs", nargs="+", help="names of the runs (default: all runs of the collection)")
        parser.add_argument("--template", help="a template of the lab to begin with; the options below come before it")
        parser.add_argument("--queries", type=Path, help="a file of query ids, one per line, instead of all queries")
        parser.add_argument(
            "--compared-pairs",
            type=Path,
            help="for --comparisons pairs: a file with the names of two runs to compare on each line",
        )
        parser.add_argument(
            "--practice-pairs",
            type=Path,
            help="for --practice: a file with a question, the better passage, the worse one and why on each line, "
            "with tabs between",
        )
        parser.add_argument(
            "--base-version",
            type=int,
            help="for --design challengers: the version whose best known answers they meet (default: the newest)",
        )
        for name in SETTINGS:
            field = Campaign._meta.get_field(name)
            assert isinstance(field, Field)
            flag, text = f"--{name.replace('_', '-')}", f"{field.help_text or field.verbose_name} ({_usual(field)})"
            if isinstance(field, BooleanField):
                parser.add_argument(flag, action="store_true", default=None, help=text)
            elif field.choices:
                parser.add_argument(flag, choices=[value for value, _label in field.flatchoices], help=text)
            else:
                parser.add_argument(flag, type=_type(field), help=text)

    def work(self, **options: Any) -> dict[str, Any]:
        chosen = {name: options[name] for name in SETTINGS if options[name] is not None}
        collection = collection_called(options["collection"], options["lab"])
        if options["queries"]:
            ids = [row.strip() for _line, row in TextFile(options["queries"]).rows()]
            chosen |= {"selection": Campaign.Selection.LIST, "query_list": "\n".join(filter(None, ids))}
        for name in ("compared_pairs", "practice_pairs"):
            if options[name]:
                chosen[name] = options[name].read_bytes().decode(errors="replace")
        if options["base_version"] is not None:
            base = collection.versions.filter(number=options["base_version"]).first()
            if base is None:
                raise CommandError(f"The collection has no version {options['base_version']}.")
            chosen["base_version"] = base
        runs = collection.runs.order_by("name")
        if options["runs"]:
            runs = runs.filter(name__in=options["runs"])
            missing = set(options["runs"]) - {run.name for run in runs}
            if missing:
                raise CommandError(f"The collection has no run called {', '.join(sorted(missing))}.")
        with reporting_to(self.stderr) as report:
            template = template_called(collection.lab, options["template"]) if options["template"] else None
            campaign = campaign_create_from(
                template=template,
                lab=collection.lab,
                collection=collection,
                runs=runs,
                name=options["name"],
                report=report,
                **chosen,
            )
        sizes = pool_selectors.stored_sizes(campaign)
        pairs, reused = campaign.pair_count, reused_pairs(campaign)
        bill = campaign_bill(publication_likely(campaign), pairs=pairs - reused)
        self.say(f"{campaign.name}: {sizes.queries:,} pools, {sizes.mean:.2f} passages on average.")
        for size, count in sizes.histogram.items():
            self.say(f"  {count:>8,} of {size}")
        if campaign.champion_split:
            split = campaign.champion_split
            self.say(
                f"Category A (the run's top passage is the qrel): {split['a']:,}; category B (it is not): "
                f"{split['b']:,}."
            )
        alike = pool_selectors.alike_pairs(campaign).count()
        if alike:
            self.say(f"{counted(alike, 'pair')} of nearly equal texts: see the campaign's page.")
        if reused:
            self.say(f"{pairs:,} pairs, {reused:,} of them already judged.")
        self.say(f"{pairs - reused:,} pairs in {counted(bill.hits, 'HIT')}, {counted(bill.assignments, 'assignment')}.")
        self.say(
            f"{campaign.money(bill.total)}: "
            + ", ".join(f"{line.what.lower()} {campaign.money(line.amount)}" for line in bill.lines)
            + f" ({counted(bill.redone, 'assignment')}, an assumption)."
        )
        for line in pay_lines(campaign):
            self.say(line)
        missing_texts = pool_selectors.missing_texts(campaign)
        if missing_texts.passages or missing_texts.queries:
            self.say(missing_texts.sentence())
        return {
            "campaign": campaign.pk,
            "pools": sizes.queries,
            "passages_per_pool": sizes.mean,
            "pools_by_size": sizes.histogram,
            "categories": campaign.champion_split,
            "pairs": pairs,
            "reused": reused,
            "alike": alike,
            "bill": bill_facts(bill),
            "without_text": {"queries": missing_texts.queries, "passages": missing_texts.passages},
        }


def _usual(field: Any) -> str:
    usual = field.get_default()
    return "none" if usual in (None, "") else str(usual)


def _type(field: Any) -> type:
    if isinstance(field, DecimalField):
        return _amount  # type: ignore[return-value]
    return int if isinstance(field, IntegerField) else str


def _amount(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ArgumentTypeError(f"{text!r} is not a number such as 2.00") from None

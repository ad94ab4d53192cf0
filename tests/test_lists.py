"""Every list of the site with a thousand rows: its pages stay small, and ask no more queries than with a few.

Each address of the site must be named here, so a list cannot be forgotten.
"""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from decimal import Decimal
from itertools import combinations, islice, zip_longest
from typing import Any, NamedTuple

import pytest
from django.conf import settings
from django.contrib import admin
from django.core.cache import cache
from django.db import connection, models, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext, ContextList
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from api.models import Delivery, Token, Webhook
from campaigns.forms import CampaignForm
from core.comparing import ComparedField
from core.lists import Listing
from core.models import Alarm, Lab, MemberInvitation, User
from core.roles import needs_by_address
from core.version import VERSION
from evaluation.files.runs import Census
from evaluation.statistics.machine_scores import Corrected, Favour
from evaluation.statistics.resampling import Interval
from judgments.models import (
    Acceptance,
    AssignmentSummary,
    CampaignSummary,
    Decision,
    Disagreement,
    Export,
    Judgment,
    PairReport,
    WorkerNote,
    WorkerSummary,
)
from machines.models import MachineJudge
from platforms.models import Message, Operation, Payment, Publication, PublishedHit, Submission, TermsVersion
from pools.models import AlikePair, Campaign, CampaignTemplate, Candidate, Pair, Pool, QrelsVersion, Twin, VersionQuery
from protection.erasing import KEPT_NAMED
from protection.models import RetentionResult
from results import machines
from results.apart import take_apart
from results.inputs import SOFTWARE
from results.models import (
    EarlierResult,
    MachineComparison,
    Result,
    ResultList,
    ShownResults,
    VersionRequest,
    VersionScore,
)
from review.models import BulkDecision, BulkRow
from runs.forms import OFFERED
from runs.models import Collection, Job, OutsideScores, Passage, PreferenceImport, Query, Run, Upload
from tasks import links
from tasks.models import (
    Assignment,
    Consent,
    ConsentText,
    Hit,
    Invitation,
    Item,
    OutsidePanel,
    PanelVisit,
    Platform,
    TestPair,
    Worker,
)
from tests import factories
from tests.results.sample_results import sample

pytestmark = pytest.mark.django_db
MANY = 1_000
CANDIDATES = 46  # of the one large pool
PAIRS = CANDIDATES * (CANDIDATES - 1) // 2  # and a few more than MANY
MOST_BYTES = 200_000
MOST_BYTES_OF = {"api:reference": 300_000}  # which grows with the API, and with nothing that anybody stores
MOST_STATES = 4  # of more choices, the first and the last are tried
MOST_QUERIES = 42

# Which lists each page has: by the name of the address, the keys of its lists ("" for the one without a key).
LISTS: dict[str, tuple[str, ...]] = {
    "campaigns:campaigns": ("", "jobs"),
    "campaigns:campaign_new": ("",),
    "runs:collections": ("", "jobs"),
    "pools:collection": ("runs", "campaigns", "versions", "jobs", "imports"),
    "runs:outside_scores": ("",),
    "runs:missing_texts": ("queries", "passages"),
    "runs:runs": ("", "jobs"),
    "pools:run": ("campaigns",),
    "runs:run_upload": ("",),
    "tasks:tests": ("suggested", "reviewed"),
    "tasks:practice": ("tests",),
    "tasks:wording": ("versions",),
    "tasks:panel": ("",),
    "tasks:outside_panel": ("sessions",),
    "platforms:publication": ("alarms", "calls"),
    "platforms:terms": ("versions",),
    "platforms:submissions": ("",),
    "platforms:compensations": ("",),
    "platforms:ledger": ("",),
    "platforms:messages": ("",),
    "platforms:pay": ("",),
    "campaigns:plan": ("alike",),
    "platforms:costs": ("",),
    "judgments:queries": ("",),
    "review:work": ("", "workers", "decisions"),
    "review:assignment": ("decisions",),
    "review:worker": ("", "decisions"),
    "review:reports": ("", "tests", "notes"),
    "review:disagreements": ("",),
    "review:workers": ("",),
    "review:bulk": ("",),
    "machines:machines": ("",),
    "results:machines": ("",),
    "results:query": ("passages", "judgments"),
    "results:table": ("",),
    "results:version": ("changes",),
    "results:version_scores": ("",),
    "judging:home": ("",),
    "api:tokens": ("",),
    "api:webhooks": ("",),
    "api:webhook": ("",),
    "core:people": ("", "invitations"),
    "audit:entries": ("",),
    "protection:protection": ("labs",),
    "protection:protection_lab": ("kept",),
    "campaigns:templates": ("", "labs"),
}
# Lists whose rows are few by their nature are looked at for their size alone.
FEW = {("results:query", "passages"), ("protection:protection_lab", "kept")}
# What shows a member few rows or nothing, and an admin of the site many.
OF_ALL_LABS = {"core:lab_new", "protection:protection", "campaigns:templates"}
MOST_VISITED = (
    *(
        "campaigns:campaigns",
        "pools:collection",
        "runs:runs",
        "tasks:tests",
        "campaigns:campaign",
        "campaigns:plan",
        "judgments:queries",
    ),
    *("review:work", "review:worker", "platforms:publication", "platforms:submissions"),
    *("platforms:ledger", "results:query", "results:results", "results:subject", "judging:home"),
    *("results:version", "results:version_scores", "results:machines"),
)
# Pages without a list of rows: they must be small all the same.
OTHER_PAGES = {
    *(
        "results:results",
        "results:subject",
        "results:show",
        "results:shown",
        "results:shown_subject",
        "results:plan",
        "platforms:submission",
        "campaigns:campaign_delete",
        "campaigns:campaign_rename",
    ),
    *("results:machine", "results:earlier", "runs:run_models"),
    *(
        "runs:collection_new",
        "runs:collection_add",
        "runs:dataset_new",
        "runs:files",
        "pools:preferences_import",
        "runs:job",
    ),
    *("platforms:conversation", "core:alarm_choice", "judgments:judgments_import", "machines:machine_import"),
    "machines:machine_ask",
    *("judgments:pilot", "protection:ethics", "review:disagreement"),
    *("campaigns:campaign_edit", "campaigns:draft_reach", "platforms:adjustment"),
    *("campaigns:campaign", "campaigns:settings", "campaigns:search", "judgments:files"),
    *("campaigns:template", "campaigns:template_save", "campaigns:template_terms", "campaigns:pay_floor"),
    "platforms:lab_account",
    *("results:settings", "results:version_new", "results:version_asked", "results:ask", "results:offer"),
    *("tasks:trial", "api:reference"),
    *("core:account", "core:components", "core:lab_new", "core:lab_rename"),
    *("protection:protection_worker", "protection:protection_campaign"),
    "protection:campaign_erase",
}
# Addresses that answer with a redirect, a file or one thing, take forms alone, or belong to a worker's task.
NOT_PAGES = {
    *(
        "judgments:make_exports",
        "review:review",
        "review:bulk_undo",
        "review:assignments_csv",
        "review:workers_csv",
        "judgments:export",
        "audit:csv",
        "audit:json",
        "protection:protection_erase",
        "protection:account_close",  # asks for the password first
        "protection:member_close",  # for admins of the site
        "protection:protection_data",
        "protection:bundle_make",
        "protection:bundle",
        "tasks:tests_suggest",
    ),
    *(
        "tasks:tests_copy",
        "tasks:tests_decide",
        "tasks:test_decide",
        "tasks:launch",
        "tasks:trial_of_wording",
        "tasks:trials_revoke",
        "judgments:rest_launch",
        "judgments:round_ask",
        "judgments:rest_repay",
        "protection:ethics_file",
        "campaigns:consequences",
        "tasks:panel_links",
        "tasks:outside_panel_delete",
        "runs:run_delete",
    ),
    *(
        "campaigns:campaign_archive",
        "campaigns:campaign_unarchive",
        "runs:run_release",
        "runs:outside_scores_delete",
        "pools:preferences_delete",
        "runs:missing_ids",
        "runs:job_cancel",
        "runs:sending_begin",
        "runs:sending_continue",
        "leaderboards:sending_begin",
        "leaderboards:sending_continue",
        "runs:files_read",
        "runs:files_discard",
        "runs:dataset_texts",
    ),
    *(
        "platforms:move",
        "platforms:publish",
        "platforms:pause",
        "platforms:resume",
        "platforms:expire",
        "platforms:stop",
    ),
    *("platforms:extend", "platforms:listen", "platforms:retry", "platforms:set_aside", "platforms:compensate"),
    *(
        "platforms:decline",
        "campaigns:template_default",
        "campaigns:template_delete",
        "platforms:ledger_csv",
        "platforms:message_set_aside",
        "platforms:costs_csv",
        "platforms:compare",
        "platforms:ask_for_money",
        "platforms:notifications",
        "platforms:account_notifications",
        "platforms:test_run",  # only where the platform has test runs: tests/platforms/prolific/test_test_runs.py
        "platforms:filters",  # only where the platform has filters: tests/platforms/prolific/test_filters.py
    ),
    *("results:compute", "results:report", "results:confidence_sets", "results:file", "results:figure"),
    *("results:marks", "results:shown_marks"),
    *("machines:machine_delete", "machines:machine_stop", "results:machines_file", "results:machine_file"),
    *("results:machine_table_file", "results:earlier_json", "results:earlier_report", "results:later_runs"),
    *("results:version_file", "results:version_scores_file"),
    "leaderboards:terms",
    "leaderboards:sample",
    *("leaderboards:ask", "leaderboards:invited", "leaderboards:team_leave", "leaderboards:submission_act"),
    *("leaderboards:board_act", "leaderboards:decide", "leaderboards:export"),
    # tests/leaderboards/test_pages.py
    *("leaderboards:boards", "leaderboards:take_part", "leaderboards:submit", "leaderboards:dev"),
    *("leaderboards:team_new", "leaderboards:team", "leaderboards:submission", "leaderboards:board_new"),
    *("leaderboards:organize", "leaderboards:board_edit", "leaderboards:policy_new", "leaderboards:season_new"),
    *("judging:language", "judging:practice", "judging:practice_pair"),
    *("judging:preview", "judging:join", "judging:declined", "judging:declined_in_frame", "judging:arrive"),
    *("judging:visit", "judging:visit_declined"),  # tests/platforms/prolific/
    *("judging:consent", "judging:take", "judging:instructions", "judging:item", "judging:save", "judging:finish"),
    *("judging:leave", "judging:done", "judging:report", "judging:note", "judging:pay_detail", "judging:another"),
    "judging:ask_about_pay",
    *(
        "boards:boards",
        "boards:board",
        "boards:entry",
        "boards:time",
        "boards:costs",
        "boards:compare",
        "boards:terms",
        "boards:wheel",
        "boards:policy",
        "boards:files",
        "boards:file",
    ),
    *(
        "boards:everything",
        "boards:atom",
        "boards:embedding",
        "boards:embed",
        "leaderboards:import",
    ),  # tests/leaderboards/test_public.py
    *("boards:versions", "boards:version", "boards:version_qrels"),  # tests/leaderboards/test_public_versions.py
    *("boards:order", "leaderboards:order"),  # tests/leaderboards/test_order_checks.py
    *("upkeep:upkeep", "upkeep:decide"),  # tests/leaderboards/test_upkeep_pages.py
    *("api:token_revoke", "api:description", "api:webhook_act", "api:delivery_repeat"),
    *(
        "core:labs",
        "core:invited",
        "core:revoke",
        "core:role",
        "core:remove",
        "core:disable",
        "core:reset_link",
        "core:test_mail",
        "core:session_end",
    ),
    *(
        name for name in needs_by_address() if ":" not in name
    ),  # logging in, one's own account, and whether the site is well
}


class World(NamedTuple):
    """What the addresses need."""

    count: int
    rita: User
    ada: User
    collection: Collection
    run: Run
    campaign: Campaign
    draft: Campaign
    pool: Pool
    worker: Worker
    assignment: Assignment
    submission: Submission
    job: Job
    asked: VersionRequest
    bulk: BulkDecision
    tray: Job
    judge: MachineJudge
    template: CampaignTemplate
    webhook: Webhook

    def address(self, name: str) -> str:
        campaign = (
            self.draft
            if name
            in ("tasks:tests", "tasks:practice", "campaigns:campaign_delete", "campaigns:campaign_edit", "tasks:trial")
            else self.campaign
        )
        arguments: dict[str, list[Any]] = {
            "campaigns:campaigns": [],
            "campaigns:search": [],
            "core:alarm_choice": [],
            "campaigns:campaign_new": [],
            "runs:collections": [],
            "runs:runs": [],
            "api:tokens": [],
            "api:reference": [],
            "api:webhooks": [campaign.lab_id],
            "api:webhook": [campaign.lab_id, self.webhook.pk],
            "review:workers": [],
            "runs:run_upload": [],
            "pools:collection": [self.collection.pk],
            "runs:collection_new": [],
            "runs:dataset_new": [],
            "runs:collection_add": [self.collection.pk],
            "runs:outside_scores": [self.collection.pk],
            "platforms:costs": [],
            "core:account": [],
            "core:components": [],
            "core:labs": [],
            "core:lab_new": [],
            "core:lab_rename": [campaign.lab_id],
            "core:people": [campaign.lab_id],
            "pools:preferences_import": [self.collection.pk],
            "judgments:judgments_import": [self.collection.pk],
            "results:machine": [campaign.pk, self.judge.pk],
            "results:earlier": [campaign.pk, 1],
            "machines:machines": [self.collection.pk],
            "machines:machine_import": [self.collection.pk],
            "machines:machine_ask": [self.collection.pk],
            "runs:missing_texts": [self.collection.pk],
            "runs:files": [self.tray.pk],
            "runs:job": [self.job.pk],
            "pools:run": [self.run.pk],
            "runs:run_models": [self.run.pk],
            "review:assignment": [campaign.pk, self.assignment.pk],
            "review:worker": [campaign.pk, self.worker.pk],
            "review:disagreement": [campaign.pk, self.pool.pairs.earliest("pk").pk],
            "review:bulk": [campaign.pk, self.bulk.pk],
            "platforms:submission": [campaign.pk, self.submission.pk],
            "platforms:conversation": [campaign.pk, self.worker.pk],
            "results:query": [campaign.pk, self.pool.pk],
            "results:subject": [campaign.pk, "certainty"],
            "results:shown": [self.campaign.shown_results.token],
            "results:shown_subject": [self.campaign.shown_results.token, "certainty"],
            "results:table": [campaign.pk, "stability"],
            "results:version_asked": [campaign.pk, self.asked.pk],
            "results:version": [self.collection.pk, 1],
            "results:version_scores": [self.collection.pk, 1],
            "judging:home": [links.home_token(self.worker, campaign)],
            "audit:entries": [],
            "protection:protection": [],
            "protection:protection_worker": [self.worker.pk],
            "protection:protection_lab": [campaign.lab_id],
            "campaigns:templates": [],
            "campaigns:template": [self.template.pk],
            "campaigns:template_terms": [self.template.pk],
            "campaigns:pay_floor": [campaign.lab_id],
            "platforms:lab_account": [campaign.lab_id, "prolific"],
        }
        return reverse(name, args=arguments.get(name, [campaign.pk]))


def multiply(row: Any, count: int, **different: str) -> None:
    """Write a row down again until there are `count` like it, the keys of which follow its own.

    `different` are SQL expressions for what they do not share; `n` counts from 1 on.
    """
    fields = [field for field in row._meta.concrete_fields if not field.primary_key]
    for field in fields:
        if isinstance(field, ComparedField) and field.of in different:
            different[field.name] = f"lower({different[field.of]})"
    values = [different.pop(field.name, f'"{field.column}"') for field in fields]
    assert not different
    columns = ", ".join(f'"{field.column}"' for field in fields)
    with connection.cursor() as cursor:
        cursor.execute(
            f'INSERT INTO "{row._meta.db_table}" ({columns}) SELECT {", ".join(values)} '
            f'FROM "{row._meta.db_table}", generate_series(1, %s) n WHERE id = %s',
            [count - 1, row.pk],
        )


def make(count: int) -> World:
    """A site with that many of everything, written down without services, which take one at a time."""
    at = timezone.now()
    unique = "md5(random()::text || n)"
    passage_text = "A passage goes on for a while, and then it ends. " * 8

    rita = User.objects.create(username=f"rita of {count}")
    ada = User.objects.create(username=f"ada of {count}", is_staff=True, is_superuser=True)
    person = User.objects.create(username=f"person of {count}")
    multiply(person, count, username=f"'person {count} ' || n")
    multiply(Lab.objects.create(name=f"Lab of {count}"), count, name=f"'lab {count} ' || n")
    lab = Lab.objects.create(name=f"Rita's lab of {count}")
    lab.members.add(rita, through_defaults={"role": "admin"})
    membership = Lab.members.through.objects.create(lab=lab, user=person)
    multiply(membership, count, user=f"{person.pk} + n")
    lab.memberships.filter(user=rita).update(role="admin")
    until = at + timedelta(days=9)
    multiply(MemberInvitation.objects.create(lab=lab, role="viewer", invited_at=at, expires_at=until), count)

    token = Token.objects.create(
        user=rita, name="notebook", digest=f"{count}", scopes=["read"], created_at=at, expires_at=at
    )
    multiply(token, count, digest=f"'{count} ' || n")
    webhook = Webhook.objects.create(lab=lab, url="https://hooks.example.org/", events=["job.failed"], created_at=at)
    multiply(webhook, count)
    delivery = Delivery.objects.create(webhook=webhook, event="job.failed", data={}, made_at=at, next_try_at=at)
    multiply(delivery, count, message="gen_random_uuid()")

    collection = Collection.objects.create(lab=lab, name="collection")
    multiply(collection, count, name="'collection ' || n")
    census = asdict(Census(lines=8, queries=4, hits=8))
    run = Run.objects.create(
        lab=lab, collection=collection, name="run", census=census, sha256="0", original="a", artifact="a"
    )
    multiply(run, count, name="'run ' || n")
    scores = {f"run {number}": [0.5, number] for number in range(1, count + 1)}
    OutsideScores.objects.create(collection=collection, source="elsewhere", scores=scores, filename="a", uploaded_at=at)
    imported = PreferenceImport.objects.create(
        collection=collection, name="old", note="Elsewhere.", sha256="0", judgment_count=9, pair_count=9, imported_at=at
    )
    multiply(imported, count, name="'old ' || n", sha256="n")
    judge = MachineJudge.objects.create(
        collection=collection, name="judge", model="a model", prompt="Which is better? " * 40, sha256="0",
        answer_count=9, pair_count=9, imported_at=at,
    )  # fmt: skip
    multiply(judge, count, name="'judge ' || n", model="'model ' || n", sha256="n")
    for kind in Job.Kind:
        job = Job.objects.create(lab=lab, kind=kind, name="job", collection=collection, asked_at=at)
        multiply(job, count)
    draft = Campaign.objects.create(lab=lab, collection=collection, name="campaign", pair_count=PAIRS)
    multiply(draft, count, name="'campaign ' || n", link=unique)
    template = CampaignTemplate.objects.create(lab=lab, name="template", values={}, changed_at=at)
    multiply(template, count, name="'template ' || n")
    campaign = Campaign.objects.create(
        lab=lab, collection=collection, name="judged", state="open", pair_count=PAIRS, pool_histogram={"2": count}
    )
    started = Campaign.objects.create(lab=lab, collection=collection, name="started", state="closed", pair_count=20)
    multiply(started, count, name="'started ' || n", link=unique)
    uses = Campaign.runs.through
    multiply(uses.objects.create(campaign=campaign, run=run), count, run=f"{run.pk} + n")
    multiply(uses.objects.create(campaign=draft, run=run), count, campaign=f"{draft.pk} + n")

    bare = Passage.objects.create(collection=collection, pid="bare", text="")
    multiply(bare, count, pid="'bare' || n")
    passage = Passage.objects.create(collection=collection, pid="p", text=passage_text)
    multiply(passage, count + CANDIDATES, pid="'p' || n")
    untold = Query.objects.create(collection=collection, qid="untold", text="")
    multiply(untold, count, qid="'untold' || n")
    query = Query.objects.create(collection=collection, qid="q", text="what is it")
    multiply(query, count, qid="'q' || n")
    pool = Pool.objects.create(campaign=campaign, query=query)
    multiply(pool, count, query=f"{query.pk} + n")
    candidates = CANDIDATES if count > 1 else 2
    candidate = Candidate.objects.create(pool=pool, passage=passage)
    multiply(candidate, candidates, passage=f"{passage.pk} + n")
    multiply(Twin.objects.create(candidate=candidate, passage=passage), count, passage=f"{passage.pk} + n")
    alike = AlikePair.objects.create(campaign=campaign, pool=pool, a=passage, b=passage, share=0.9)
    multiply(alike, count, pool=f"{pool.pk} + n", a=f"{passage.pk} + n")
    pids = [passage.pk + n for n in range(candidates)]
    pairs = Pair.objects.bulk_create(Pair(pool=pool, a_id=a, b_id=b) for a, b in islice(combinations(pids, 2), count))

    text = ConsentText.objects.create(campaign=campaign, version=1, text="What you agree to.")
    multiply(text, count, version="n + 1")
    worker = Worker.objects.create(lab=lab, platform="panel", label="Person")
    multiply(worker, count, label="'Person ' || n")
    multiply(Invitation.objects.create(campaign=campaign, worker=worker), count, worker=f"{worker.pk} + n")
    outside = OutsidePanel.objects.create(campaign=campaign, name="Connect", finished_exit="DONE")
    visit = PanelVisit.objects.create(panel=outside, worker=worker, session="s", came_at=at)
    multiply(visit, count, session="'session ' || n")
    consent = Consent.objects.create(worker=worker, text_id=text.pk + count - 1)
    multiply(consent, count, worker=f"{worker.pk} + n")
    for state in ("suggested", "confirmed"):
        texts = {"relevant_text": passage_text, "off_topic_text": passage_text}
        test = TestPair.objects.create(
            campaign=draft, question="test", state=state, decided_at=at, decided_by=rita, **texts
        )
        multiply(test, count, question="'test ' || n")
    hit = Hit.objects.create(campaign=campaign, number=1, needed=0)
    multiply(hit, count, number="n + 1")
    item = Item.objects.create(hit=hit, position=1, pair=pairs[0], a_left=True)
    multiply(item, count, hit=f"{hit.pk} + n", pair=f"{pairs[0].pk} + n")
    work = {"campaign": campaign, "hit": hit, "worker": worker, "state": "submitted", "verdict": "accepted"}
    work |= {"taken_at": at, "leased_until": at, "finished_at": at, "judged": 1, "owed": Decimal("0.20")}
    assignment = Assignment.objects.create(**work)
    multiply(assignment, count, hit=f"{hit.pk} + n", worker=f"{worker.pk} + n")
    again = Assignment.objects.create(**work, platform_assignment_id="A")
    multiply(again, count, hit=f"{hit.pk} + n", platform_assignment_id="'A' || n")
    judgment = Judgment.objects.create(assignment=assignment, item=item, preferred="left", shown_at=at, made_at=at)
    multiply(judgment, count, assignment=f"{assignment.pk} + n", item=f"{item.pk} + n")
    acceptance = Acceptance.objects.create(
        pair=pairs[0], slot=1, judgment=judgment, worker=worker, assignment=assignment
    )
    accepted = {"pair": pairs[0], "judgment": judgment, "worker": worker, "assignment": assignment}
    multiply(acceptance, count, **{name: f"{row.pk} + n" for name, row in accepted.items()})
    split = Disagreement.objects.create(campaign=campaign, pair=pairs[0], for_a=1, for_b=1)
    multiply(split, count, pair=f"{pairs[0].pk} + n", for_a="n")
    about = {"campaign": campaign, "worker": worker, "assignment": assignment, "by": rita, "at": at}
    multiply(Decision.objects.create(**about, kind="restored", why="It was fine after all."), count)
    report = PairReport.objects.create(assignment=assignment, item=item, reason="broken", note="Cut off.", made_at=at)
    multiply(report, count, assignment=f"{assignment.pk} + n", item=f"{item.pk} + n")
    about_test = {
        "question": "test",
        "relevant_text": passage_text,
        "off_topic_text": passage_text,
        "state": "confirmed",
    }
    used = TestPair.objects.create(campaign=campaign, **about_test)
    multiply(used, count, question="'test ' || n")
    tested = Item.objects.create(hit=hit, position=2, test=used, a_left=True)
    multiply(tested, count, hit=f"{hit.pk} + n", test=f"{used.pk} + n")
    wrong = PairReport.objects.create(assignment=assignment, item=tested, reason="broken", made_at=at)
    multiply(wrong, count, assignment=f"{assignment.pk} + n", item=f"{tested.pk} + n")
    note = WorkerNote.objects.create(assignment=assignment, text="I was careful.", made_at=at)
    multiply(note, count, assignment=f"{assignment.pk} + n")
    submission = _publish(campaign, count, hit, assignment, unique)
    bulk = BulkDecision.objects.create(campaign=campaign, action="exclude", why="Careless.", by=rita, at=at)
    row = BulkRow.objects.create(bulk=bulk, assignment=assignment, worker=worker, state="done")
    kept = [
        {"worker": number, "why": "The worker takes part in a campaign that is not closed."}
        for number in range(KEPT_NAMED)
    ]
    RetentionResult.objects.create(lab=campaign.lab, at=timezone.now(), erased=0, kept_count=MANY, kept=kept)
    multiply(row, count, assignment=f"{assignment.pk} + n", worker=f"{worker.pk} + n")
    seen = {"pairs": 10, "median_seconds": 5.0, "left_share": 0.1, "tests": 3, "passed": 2, "pass_share": 0.6}
    summary = AssignmentSummary.objects.create(assignment=assignment, **seen)
    multiply(summary, count, assignment=f"{assignment.pk} + n")
    of_worker = WorkerSummary.objects.create(campaign=campaign, worker=worker, **seen)
    multiply(of_worker, count, worker=f"{worker.pk} + n")
    CampaignSummary.objects.create(
        campaign=campaign, revision=0, newest_judgment=0, made_at=at, rests_until=at, median_seconds=20.0
    )

    data = sample(16)
    data["stability"] = [
        {
            "qid": f"q{n}", "best": [f"p{n}"], "share": n / count, "survives": 1.0, "fragility": 1, "exact": True,
            "set": [f"p{n}"], "also": [], "further": {}, "passages": [{"passage": f"p{n}", "p": 1.0}],
        }
        for n in range(count)
    ]  # fmt: skip
    moment: dict[str, Any] = {"campaign": campaign, "revision": 0, "seconds": 1, "rests_until": at}
    parts = take_apart(data)
    result = Result.objects.create(**moment, software=SOFTWARE, computed_at=at, data=parts.data, figures={}, tops={})
    for name, rows in parts.lists.items():
        ResultList.objects.create(result=result, name=name, rows=rows)
    ShownResults.objects.create(campaign=campaign, made_at=at)
    result_moment = {"revision": 0, "software": SOFTWARE, "computed_at": at, "final_at": at, "replaced_at": at}
    earlier = EarlierResult.objects.create(campaign=campaign, number=1, data=data, **result_moment)
    multiply(earlier, count, number="n + 1")
    asked = VersionRequest.objects.create(campaign=campaign, why="Once.", parent=0, asked_at=at)
    multiply(asked, count, ended_at="asked_at")
    version = QrelsVersion.objects.create(
        collection=collection, number=1, campaign=campaign, revision=0, made_at=at, why="For the first time.",
        software=VERSION, added=0, changed=count, unchanged=0, unsettled=0, held_back=0, qrels=count, sha256="0",
    )  # fmt: skip
    multiply(version, count, number="n + 1")
    change = VersionQuery.objects.create(version=version, query=query, kind="changed", before=["p"], after=["p1"])
    multiply(change, count, query=f"{query.pk} + n")
    scores = dict.fromkeys(("rr", "low", "high", "original", "original_low", "original_high"), 0.5)
    beside: dict[str, Any] = dict.fromkeys(("answers", "answered", "pairs", "decisive", "agree", "ties", "missing"), 9)
    beside |= {"share": 0.5, "interval": [0.4, 0.6], "people": {"pairs": 9, "compared": 9, "raw": 0.6, "alpha": 0.1}}
    beside |= {"first": {"left": 9, "right": 9, "left_share": 0.5, "p": 1.0}, "orders": {"tau": 0.5, "tau_first": 0.5}}
    beside["longer"] = {"judgments": 9, "machine": 5, "people": 4, "machine_share": 0.6, "people_share": 0.5}
    person = {"pairs": 40, "machine": 0.9, "person": 0.9, "p": 0.01, "stands": True}
    beside["stand_in"] = {
        "epsilon": 0.1, "people": [person] * count, "few": count, "winning": 1.0, "advantage": 0.9, "passes": True
    }  # fmt: skip
    beside |= {"theirs": ["run"], "favour": Favour(1, count, 9, 0.1, Interval(0.05, 0.15), 0.01)._asdict()}
    corrected = Corrected(0.5, Interval(0.4, 0.6), 0.6, 0.5, Interval(0.45, 0.55), 0.5)._asdict()
    helped = {"k": 10, "queries": 9, "further": 9, "runs": {f"run {n}": corrected for n in range(count)}}
    helped["differences"] = [{"a": f"run {n}", "b": f"run {n + 1}", **corrected} for n in range(count - 1)]
    comparison = MachineComparison.objects.create(
        campaign=campaign, judge=judge, revision=0, software=machines.SOFTWARE, computed_at=at, data=beside, runs={},
        scores=helped, qrels="q 0 p 1\n",
    )  # fmt: skip
    multiply(comparison, count, judge=f"{judge.pk} + n")
    score = VersionScore.objects.create(version=version, run=run, software=VERSION, scored_at=at, found=1, **scores)
    multiply(score, count, run=f"{run.pk} + n", rr="n::float / 10000")
    judging = {"pairs": PAIRS, "done": MANY, "accepted": MANY, "unused": 0}
    counts = {"judging": judging, "pools": 1, "single": 1, "deadlocks": [], "incomplete": 0}
    Export.objects.create(**moment, software=VERSION, newest_assignment=0, newest_judgment=0, counts=counts, made_at=at)
    factories.analyze()
    tray = Job.objects.create(
        lab=lab, kind="collection", state="receiving", name="tray", collection=collection, asked_at=at
    )
    upload = Upload.objects.create(job=tray, part="run", name="run", size=9)
    multiply(upload, min(count, settings.DATA_UPLOAD_MAX_NUMBER_FILES), name="'run ' || n")
    return World(
        count,
        rita,
        ada,
        collection,
        run,
        campaign,
        draft,
        pool,
        worker,
        assignment,
        submission,
        job,
        asked,
        bulk,
        tray,
        judge,
        template,
        webhook,
    )


def _publish(campaign: Campaign, count: int, hit: Hit, assignment: Assignment, unique: str) -> Submission:
    at = timezone.now()
    publication = Publication.objects.create(
        campaign=campaign, state="open", platform=Platform.MARKETPLACE, title="Mine", description="Mine"
    )
    terms = TermsVersion.objects.create(publication=publication, version=1, values={"title": "Mine"}, at=at)
    multiply(terms, count, version="n + 1", values="jsonb_build_object('title', 'Mine ' || n)")
    published = PublishedHit.objects.create(
        publication=publication, hit=hit, max_assignments=1, platform_hit_id="H", posted_at=at,
        expires_at=at + timedelta(days=1),
    )  # fmt: skip
    multiply(published, count, hit=f"{hit.pk} + n", platform_hit_id="'H' || n")
    submission = Submission.objects.create(
        publication=publication, published_hit=published, platform_assignment_id="S", platform_worker_id="W",
        status="Submitted", submitted_at=at, why_unmatched="Nothing stored here matches it.",
    )  # fmt: skip
    multiply(submission, count, published_hit=f"{published.pk} + n", platform_assignment_id="'S' || n")
    for purpose in ("reward", "compensation"):
        money = {"amount": Decimal("0.20"), "fee": Decimal("0.04"), "owed_at": at}
        payment = Payment.objects.create(publication=publication, assignment=assignment, purpose=purpose, **money)
        multiply(payment, count, assignment=f"{assignment.pk} + n", token=unique)
    operation = Operation.objects.create(
        publication=publication, kind="approve", submission=submission, state="refused", next_try=at, ended_at=at,
        error="The platform refused it.",
    )  # fmt: skip
    multiply(operation, count, submission=f"{submission.pk} + n", token=unique)
    alarm = Alarm.objects.create(
        of=publication, kind="refused", about="operation", about_id=operation.pk, text="Refused.", raised_at=at
    )
    multiply(alarm, count, about_id=f"{operation.pk} + n")
    message = Message.objects.create(
        publication=publication, worker=assignment.worker, state="received", subject="Hello", text="Why?", at=at
    )
    multiply(message, count, worker=f"{assignment.worker_id} + n")
    return submission


def in_a_world(count: int, blocker: Any) -> Iterator[World]:
    """A world of its own, which leaves nothing behind."""
    with blocker.unblock(), transaction.atomic():
        world = make(count)
        connection.check_constraints()  # here and once: the check at the end of each test is undone with its savepoint
        yield world
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def many(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """A thousand of everything."""
    yield from in_a_world(MANY, django_db_blocker)


@pytest.fixture(scope="module")
def few(many: World, django_db_blocker: Any) -> World:
    """Ten of everything, beside them, and undone with them."""
    with django_db_blocker.unblock():
        return make(10)  # of fewer assignments, the pace is estimated in another way


@pytest.fixture(scope="module")
def browser(many: World) -> Client:
    """Rita's browser."""
    client = Client()
    client.force_login(many.rita)
    return client


def browser_for(name: str, many: World, browser: Client) -> Client:
    """Rita's browser, or for what lists labs, that of the site's admin."""
    if name not in OF_ALL_LABS:
        return browser
    client = Client()
    client.force_login(many.ada)
    return client


def listings(answer: Any) -> dict[str, Listing]:
    """The lists that a page was rendered with, by their keys. A part of a page, rendered alone, does not say."""
    contexts = answer.context if isinstance(answer.context, ContextList | None) else [answer.context]
    values = [value for context in contexts or () for layer in context.dicts for value in layer.values()]
    return {value.key: value for value in values if isinstance(value, Listing)}


def names(patterns: list[Any], space: str = "") -> set[str]:
    """The names of all addresses, but for the admin site's and those of the API, whose lists all are one class."""
    found: set[str] = set()
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if pattern.namespace not in ("admin", "v1"):
                found |= names(pattern.url_patterns, f"{pattern.namespace}:" if pattern.namespace else space)
        elif isinstance(pattern, URLPattern):
            found.add(space + (pattern.name or ""))
    return found


def test_every_address_is_looked_at_or_known_to_show_no_list() -> None:
    known = set(LISTS) | OTHER_PAGES | NOT_PAGES
    there = names(get_resolver().url_patterns)
    assert there - known == set()
    assert known - there == set()


def opened(name: str, many: World, browser: Client) -> dict[str, Listing]:
    """The lists of a page, which is small with a thousand of everything."""
    with CaptureQueriesContext(connection) as asked:
        answer = browser.get(many.address(name))
    assert answer.status_code == 200
    assert len(answer.content) < MOST_BYTES_OF.get(name, MOST_BYTES)
    assert len(asked) <= MOST_QUERIES
    shown = listings(answer)
    assert set(shown) == set(LISTS.get(name, ()))
    for key, listing in shown.items():
        assert len(listing.page) <= 50
        assert (name, key) in FEW or listing.page.paginator.count >= MANY
        assert listing.page.paginator.num_pages > 1
        assert listing.next in answer.content.decode().replace("&amp;", "&")
    return shown


@pytest.mark.parametrize("name", sorted(OTHER_PAGES))
def test_a_page_stays_small_with_a_thousand_of_everything(name: str, many: World, browser: Client) -> None:
    opened(name, many, browser_for(name, many, browser))


@pytest.mark.parametrize("name", MOST_VISITED)
def test_a_page_asks_as_many_queries_with_many_rows_as_with_few(
    name: str, many: World, few: World, browser: Client
) -> None:
    other = Client()
    other.force_login(few.rita)
    asked = []
    for client, address in ((other, few.address(name)), (browser, many.address(name))):
        client.get(address)  # what a process remembers for good is asked for here
        cache.clear()  # and what it remembers for seconds, by both pages again
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address).status_code == 200
        asked.append([query["sql"][:200] for query in queries])
    assert len(asked[1]) <= len(asked[0]), asked


@pytest.mark.parametrize("name", LISTS)
def test_a_list_stays_small_goes_on_on_its_next_page_and_sorts_and_narrows(
    name: str, many: World, browser: Client
) -> None:
    """All lists of a page at once, where that can be."""
    address, browser = many.address(name), browser_for(name, many, browser)

    def lists_at(*addresses: str) -> dict[str, Listing]:
        return listings(browser.get(f"{address}?" + "&".join(each.partition("#")[0][1:] for each in addresses)))

    first = opened(name, many, browser)
    following = lists_at(*(listing.next for listing in first.values()))
    for key, listing in first.items():
        assert [listing.page.number, following[key].page.number] == [1, 2]
        assert not set(map(str, map(_key, listing.page))) & set(map(str, map(_key, following[key].page)))
    for number in range(max(len(listing.sorts) for listing in first.values())):
        columns = {key: list(listing.sorts)[number] for key, listing in first.items() if number < len(listing.sorts)}
        with CaptureQueriesContext(connection) as asked:
            up = lists_at(*(first[key].sort_address(column) for key, column in columns.items()))
        assert {up[key].sorted_as(column) for key, column in columns.items()} == {"ascending"}
        assert len(asked) <= MOST_QUERIES
        for key, column in columns.items() if number == 0 else ():
            down = lists_at(up[key].sort_address(column))[key]
            assert down.sorted_as(column) == "descending"
            assert [_key(row) for row in up[key].page] != [_key(row) for row in down.page]
    for narrowed in zip_longest(*map(_narrowings, first.values())):
        chosen = browser.get(address, dict(filter(None, narrowed)))
        assert chosen.status_code == 200
        assert len(chosen.content) < MOST_BYTES


def _narrowings(listing: Listing) -> list[tuple[str, str]]:
    """The values to try of each field of a list's filter."""
    tried = []
    for field in [] if listing.filter is None else listing.filter.form:
        choices = [value for value, _label in getattr(field.field, "choices", [("5", "")]) if value]
        few = choices if len(choices) <= MOST_STATES else [choices[0], choices[-1]]
        tried += [(field.html_name, value) for value in few]
    return tried


def _key(row: Any) -> Any:
    return row.pk if isinstance(row, models.Model) else row


def test_forms_offer_a_hundred_of_many_and_take_the_others_by_their_names(many: World, browser: Client) -> None:
    answer = browser.get(reverse("campaigns:campaign_new"), {"collection": many.collection.pk})
    assert len(answer.content) < MOST_BYTES
    form = answer.context["form"]
    assert len(form.fields["runs"].widget.choices) == OFFERED
    entered = {name: form[name].value() for name in form.fields} | {"name": "new", "runs": [many.run.pk]}
    entered["all_runs"] = None
    entered = {name: "" if value is None else value for name, value in entered.items()}

    chosen = CampaignForm(entered | {"more_runs": f"run {MANY - 2}\n\nrun {MANY - 1}\n"}, collection=many.collection)
    assert chosen.is_valid(), chosen.errors
    assert {run.name for run in chosen.cleaned_data["runs"]} == {"run", f"run {MANY - 2}", f"run {MANY - 1}"}
    unknown = CampaignForm(entered | {"more_runs": f"run {MANY - 2}\nnobody"}, collection=many.collection)
    assert unknown.errors["more_runs"] == ["The collection has no run with this name: nobody."]
    nothing = CampaignForm(entered | {"runs": [], "more_runs": ""}, collection=many.collection)
    assert nothing.errors["runs"] == ["Choose at least one run."]


def test_a_run_is_uploaded_to_a_collection_that_was_chosen_before(many: World, browser: Client) -> None:
    assert browser.get(reverse("runs:run_upload")).context["target"] == "runs:run_upload"
    answer = browser.get(reverse("runs:run_upload"), {"collection": many.collection.pk})
    assert len(answer.content) < MOST_BYTES
    assert list(answer.context["form"].fields["collection"].queryset) == [many.collection]
    assert browser.get(reverse("runs:run_upload"), {"collection": "0"}).context["target"] == "runs:run_upload"


@pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model._meta.label_lower)
def test_the_admin_sites_lists_stay_small_too(model: type[models.Model], many: World, browser: Client) -> None:
    client = Client()
    client.force_login(many.ada)
    label = f"{model._meta.app_label}_{model._meta.model_name}"
    for address in [reverse(f"admin:{label}_changelist"), *_one_row(model, label)]:
        with CaptureQueriesContext(connection) as asked:
            answer = client.get(address)
        assert answer.status_code == 200
        assert len(answer.content) < MOST_BYTES
        assert len(asked) <= MOST_QUERIES


def _one_row(model: type[models.Model], label: str) -> list[str]:
    """The address of the first row's page."""
    first = model._default_manager.order_by("pk").first()
    return [] if first is None else [reverse(f"admin:{label}_change", args=[first.pk])]

"""Prolific, as the rest of the package sees it: one study for each campaign, reached with the token of the lab."""

import time
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import pycountry
from django.conf import settings
from django.core.cache import cache
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from core.errors import BadRequest, NotNow, Refused
from core.money import CENT, CURRENCIES, DOLLARS, POUNDS
from core.percent import in_percent
from core.sealing import SealedOtherwise, unseal
from platforms.adapter import Adapter, NotTold, Trouble
from platforms.arriving import may_be_an_id
from platforms.calls import Answer
from platforms.demands import Demands, FilterKind
from platforms.messages.protocol import Heard, Inbox
from platforms.models import LabAccount, Operation, Payment, Publication, PublishedHit, Submission
from platforms.money.protocol import LabAccounts, MarkedHit, Notice
from platforms.prolific import hooks
from platforms.prolific.client import (
    ERRORS,
    READ_SECONDS,
    Client,
    ProlificError,
    amount_of,
    assert_host,
    code_of,
    submissions_of,
    trouble_of,
)
from platforms.prolific.endings import MOST, RETURN_REASONS, amount_of_share, code_of_ending, percent_of, shares
from platforms.prolific.offers import offers_of
from platforms.prolific.operations import (
    HANDLERS,
    SIGNED,
    allowed_minutes,
    least_allowed,
    mark_of,
    minutes_of,
    study_request,
)
from platforms.prolific.testing import test_study_end, test_study_make
from platforms.prolific.visits import KEPT_OUT, LET_IN, check_earlier, earlier_studies, token_check
from platforms.prolific.words import VOCABULARY
from platforms.publishing.protocol import Changes, Filters, Seen, Studies, TestRuns, Visit
from platforms.reviewing.protocol import Ending, Work
from tasks.models import Assignment, Hit, Platform
from tasks.outside_panels import Exit

Kind, Status = Operation.Kind, Submission.Status
# What Prolific demands that an hour pays by the median time, and what it recommends, in a study's currency:
# its help pages on payment, 2026. Below the minimum it asks for adjustments.
LEAST_HOURLY = {DOLLARS: Decimal("8.00"), POUNDS: Decimal("6.00")}
ADVISED_HOURLY = {DOLLARS: Decimal("12.00"), POUNDS: Decimal("9.00")}
COUNTRY, RATE, NUMBER = "current-country-of-residence", "approval_rate", "approval_numbers"
OLDEST_MESSAGES = timedelta(days=29)  # Prolific tells those of the last 30 days
OVERLAP = timedelta(minutes=10)
TIME_TO_RETURN = timedelta(hours=1)  # after it, a place that was not returned is asked for once more
PATIENCE = 10  # seconds that a look for messages waits
FILTERS_KEPT = 3600  # seconds that the list of filters is kept
ROWS_KEPT = 60.0  # seconds that one client keeps a study's submissions
MOST_LOOKS = 25  # submissions that are asked about one by one; of more, the whole list is read
PROBE = 10_000  # cents of the reward that the fee is asked for
SHORT = 5  # minutes under which Prolific lets one failed check be a reason to reject
APPROVED_BY_ITSELF = timedelta(days=21)
STATUSES = {
    "AWAITING REVIEW": Status.SUBMITTED,
    "APPROVED": Status.APPROVED,
    "PARTIALLY APPROVED": Status.APPROVED,
    "REJECTED": Status.REJECTED,
}
CATEGORIES = (
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT"),
    *("MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
)
DECIDED = ("APPROVED", "PARTIALLY APPROVED", "REJECTED")
GONE = ("RETURNED", "TIMED-OUT", "SCREENED OUT")
AT_WORK = ("RESERVED", "ACTIVE")
WAITING, NEWEST = "AWAITING_REVIEW", "-started_at"  # a state and an order of lists


class ProlificAdapter(Adapter, Studies, Filters, TestRuns, Inbox, LabAccounts):
    """Prolific for one lab; without one, only what holds for all."""

    errors = ERRORS
    operations = HANDLERS
    trouble_of, code_of = staticmethod(trouble_of), staticmethod(code_of)
    test_study_make, test_study_end = staticmethod(test_study_make), staticmethod(test_study_end)
    token_life = timedelta(days=3650)  # what may be asked for again looks first, however late it is
    platform = Platform.PROLIFIC.value
    spends_real_money = True
    vocabulary = VOCABULARY
    unused_terms = frozenset({"base", "keywords", "lifetime", "auto_approval"})
    rejection_categories = CATEGORIES
    least_rejection = 100
    return_reasons = ("Didn't finish the study", "Encountered technical problems", "Withdrew consent")
    has_subjects = False
    reaches_beginners = True
    bonus_purposes = frozenset({*Payment.BONUSES, Payment.Purpose.COMPENSATION})

    def __init__(self, lab_id: int | None = None) -> None:
        self.lab_id = lab_id
        self._account: LabAccount | None = None

    # --- connecting

    def for_lab(self, lab_id: int) -> "ProlificAdapter":
        return ProlificAdapter(lab_id)

    @property
    def payer(self) -> str:
        return str(self.lab_id or "")

    @property
    def account(self) -> LabAccount:
        """The lab's account. Raises NotNow where it stored no token."""
        if self._account is None:
            self._account = LabAccount.objects.filter(lab=self.lab_id, platform=self.platform).first()
        if self._account is None:
            raise NotNow(_("This lab has no account at Prolific here yet. %s") % self.how_to_give_access())
        return self._account

    def how_to_give_access(self) -> str:
        return _("Someone who manages the lab stores its API token, on the lab's page under “Account at Prolific”.")

    def assert_configured(self) -> None:
        if self.lab_id is not None:
            self.account  # noqa: B018  # raises

    def client(self, *, read_seconds: int | None = None) -> Client:
        try:
            token = unseal(self.account.sealed)
        except SealedOtherwise:
            raise NotNow(_("The token of Prolific cannot be opened with this site's key. Store it again.")) from None
        return _client(token, read_seconds)

    def assert_host(self, client: Any) -> None:
        assert_host(client, settings.PROLIFIC_API_URL)

    def account_of(self, token: str, workspace_id: str) -> tuple[LabAccount, Decimal]:
        client = _client(token, None)
        try:
            client.get("users/me/")
            workspaces = {str(row["id"]): str(row["title"]) for row in client.listed("workspaces/")}
            if not workspace_id and len(workspaces) == 1:
                workspace_id = next(iter(workspaces))
            if workspace_id not in workspaces:
                names = ", ".join(f"“{title}” ({key})" for key, title in workspaces.items())
                text = _("The token opens these workspaces: %(known)s. Choose one by its id.")
                raise BadRequest(text % {"known": names or "–"})
            balance = client.get(f"workspaces/{workspace_id}/balance/")
            if balance["currency_code"] not in CURRENCIES:
                text = _("The workspace's money is in %(currency)s. Only workspaces in these can be used: %(wanted)s.")
                raise Refused(text % {"currency": balance["currency_code"], "wanted": ", ".join(CURRENCIES)})
            projects = list(client.listed(f"workspaces/{workspace_id}/projects/"))
            if not projects:
                raise Refused(_("The workspace has no project. Create one at Prolific."))
            cost = client.post("study-cost-calculator/", {"reward": PROBE, "total_available_places": 1})
            account = LabAccount(
                platform=self.platform,
                workspace_id=workspace_id,
                workspace=workspaces[workspace_id][:200],
                project_id=str(projects[0]["id"]),
                currency=balance["currency_code"],
                fee_share=max(Decimal(0), Decimal(str(cost["total_cost"])) / PROBE - 1),
                offers=offers_of(client, str(projects[0]["id"])),
            )
            return account, amount_of(balance["available_balance"])
        except self.errors as error:
            if trouble_of(error) == Trouble.ACCOUNT:
                raise BadRequest(_("Prolific does not accept this token.")) from error
            raise Refused(_("Prolific did not answer as expected: %(error)s") % {"error": error}) from error
        except (KeyError, TypeError, ArithmeticError) as error:
            raise Refused(_("Prolific's answer could not be understood (%(error)s).") % {"error": error}) from error

    # --- terms

    def pay_at_first(self) -> str:
        """The reward for complete work; whoever leaves early returns the submission, and gets a bonus."""
        return Publication.Pay.RETURN_AND_COMPENSATE

    def requirements_of(self, demands: Demands) -> list[dict[str, Any]]:
        """Demands as filters, with the choices that Prolific offers now. Raises Refused where it has no such choice."""
        filters: list[dict[str, Any]] = []
        if demands.countries:
            choices = self._countries()
            unknown = [code for code in demands.countries if code not in choices]
            if unknown:
                text = _("Prolific has no participants to choose by country in: %(codes)s.")
                raise Refused(text % {"codes": ", ".join(unknown)})
            filters.append({"filter_id": COUNTRY, "selected_values": [choices[code] for code in demands.countries]})
        if demands.percent is not None:
            filters.append({"filter_id": RATE, "selected_range": {"lower": demands.percent, "upper": 100}})
        if demands.approved is not None:
            filters.append({"filter_id": NUMBER, "selected_range": {"lower": demands.approved + 1}})
        return [*filters, *demands.others]

    def demands_of(self, requirements: list[dict[str, Any]]) -> Demands:
        """The demands behind filters; what is not exactly of one of the three kinds is among `others`."""
        demands = Demands()
        for requirement in requirements:
            kind, bounds = requirement.get("filter_id"), requirement.get("selected_range") or {}
            if kind == COUNTRY and not demands.countries and (countries := self._codes(requirement)):
                demands = demands._replace(countries=countries)
            elif kind == RATE and demands.percent is None and bounds.get("upper") == 100 and "lower" in bounds:
                demands = demands._replace(percent=bounds["lower"])
            elif kind == NUMBER and demands.approved is None and set(bounds) == {"lower"}:
                demands = demands._replace(approved=bounds["lower"] - 1)
            else:
                demands = demands._replace(others=(*demands.others, requirement))
        return demands

    def _codes(self, requirement: dict[str, Any]) -> tuple[str, ...]:
        """The countries of a filter by their codes; none where one of them is not known by any."""
        try:
            by_choice = {choice: code for code, choice in self._countries().items()}
        except Refused:
            return ()
        chosen = requirement.get("selected_values") or []
        return tuple(by_choice[choice] for choice in chosen) if all(choice in by_choice for choice in chosen) else ()

    def _countries(self) -> dict[str, str]:
        """Prolific's choices of the country that somebody lives in, by the country's code."""
        choices = next((f.get("choices") or {} for f in self._filters() if f.get("filter_id") == COUNTRY), {})
        by_code: dict[str, str] = {}
        for choice, name in choices.items():
            try:
                by_code[pycountry.countries.lookup(str(name)).alpha_2] = str(choice)
            except LookupError:  # a name that no list of countries has: it can be chosen among the other filters
                continue
        return by_code

    def _filters(self) -> list[Answer]:
        """The filters that Prolific offers, kept for an hour."""
        key = f"prolific-filters-{self.account.pk}"
        filters: list[Answer] | None = cache.get(key)
        if filters is None:
            try:
                filters = list(self.client(read_seconds=5).get("filters/", once=True).get("results") or [])
            except self.errors as error:
                raise Refused(_("Prolific does not say what it filters by: %(error)s") % {"error": error}) from error
            cache.set(key, filters, FILTERS_KEPT)
        return filters

    def filters_offered(self) -> list[FilterKind]:
        """Prolific's filters by title, but for country and approvals, which all platforms have."""
        earlier, kinds = earlier_studies(self.lab_id), []
        for row in self._filters():
            key, choices = (
                row.get("filter_id"),
                {str(key): str(name) for key, name in (row.get("choices") or {}).items()},
            )
            if key in (KEPT_OUT, LET_IN):  # the lab's campaigns by name, whether or not Prolific lists them
                choices = earlier | {study: name for study, name in choices.items() if study not in earlier}
            if key in (None, COUNTRY, RATE, NUMBER) or (row.get("type") == "select" and not choices):
                continue
            title, question = row.get("title") or key, row.get("question") or row.get("description") or ""
            kind = FilterKind(str(key), str(title), str(question), choices, row.get("min"), row.get("max"))
            kinds.append(kind._replace(keeps_out=kind.key.endswith("_blocklist")))
        return sorted(kinds, key=lambda kind: (kind.title.casefold(), kind.key))

    def terms_troubles(self, publication: Publication) -> list[str]:
        troubles = []
        if publication.pay == Publication.Pay.BASE_AND_BONUS:
            troubles.append(
                _("Prolific's participants are shown the whole reward: choose another pay for leaving early.")
            )
        least = least_allowed(minutes_of(publication))
        if allowed_minutes(publication) < least:
            text = _("Prolific wants at least %(least)d minutes for a HIT of %(minutes)d: give it more time.")
            troubles.append(text % {"least": least, "minutes": minutes_of(publication)})
        if any(not isinstance(f.get("filter_id"), str) for f in publication.requirements):
            troubles.append(_("Each filter needs a filter_id, with selected_values or a selected_range."))
        if publication.state != Publication.State.DRAFT:
            before = Publication.objects.get(pk=publication.pk)
            if not self.is_told_the_same(before, publication):
                troubles.append(
                    _("A published study cannot be changed at Prolific. Publish another campaign on other terms.")
                )
        return troubles

    def is_told_the_same(self, before: Publication, after: Publication) -> bool:
        first, second = study_request(before, ""), study_request(after, "")
        changing = ("total_available_places", "estimated_completion_time")
        return all(first[name] == second[name] for name in first if name not in changing)

    def dry_run(self, publication: Publication, hits: Iterable[Hit]) -> Iterator[tuple[str, Answer]]:
        imagined = copy(publication)
        imagined.exclusion_id = publication.exclusion_id or "<group>"
        group = Operation(publication=imagined, kind=Kind.EXCLUSION_TYPE)
        yield "POST /participant-groups/", self.operations[Kind.EXCLUSION_TYPE].request(group)
        yield "POST /studies/", study_request(imagined, imagined.exclusion_id)
        yield "POST /studies/<study>/transition/", {"action": "PUBLISH"}

    least_told = 25  # Prolific says 0 for fewer, to protect them

    def count_workers(self, publication: Publication, *, seconds: int) -> tuple[int, int]:
        """Participants who were active in the last 90 days: those who pass the filters, and all of them."""
        client, workspace = self.client(read_seconds=seconds), self.account.workspace_id

        def count(filters: list[dict[str, Any]]) -> int:
            answer = client.post("eligibility-count/", {"workspace_id": workspace, "filters": filters})
            if not isinstance(answer.get("count"), int | float):
                raise NotTold(_("Prolific's answer has no count."))
            return int(answer["count"])

        return count(publication.requirements), count([])

    # --- money

    @property
    def currency(self) -> str:
        return self.account.currency if self.lab_id is not None else DOLLARS

    @property
    def least_hourly(self) -> Decimal:
        return LEAST_HOURLY[self.currency]

    @property
    def advised_hourly(self) -> Decimal:
        return ADVISED_HOURLY[self.currency]

    def balance(self, client: Any, *, once: bool = False) -> Decimal:
        """What the workspace can spend, without what running studies hold."""
        answer = client.get(f"workspaces/{self.account.workspace_id}/balance/", once=once)
        if answer["currency_code"] != self.currency:
            raise ProlificError(409, "currency", _("The workspace's money is in %s.") % answer["currency_code"])
        return amount_of(answer["available_balance"])

    def pays_leavers(self, publication: Publication) -> bool:
        return shares(publication)

    def pay_for_leaving(self, publication: Publication, earned: Decimal) -> Decimal:
        """A share of the reward in whole percent, where the study pays one; what is more than any share, as it is."""
        if earned <= 0 or not shares(publication):
            return earned
        return max(earned, amount_of_share(publication.listed, percent_of(publication.listed, earned)))

    def reward_fee(self, reward: Decimal, max_assignments: int) -> Decimal:
        """Service fee and tax, as Prolific's calculator said when the token was stored."""
        return self._fee(reward)

    def bonus_fee(self, bonus: Decimal) -> Decimal:
        return self._fee(bonus)

    def _fee(self, amount: Decimal) -> Decimal:
        return (amount * self.account.fee_share).quantize(CENT, rounding=ROUND_HALF_UP)

    def fees_in_words(self, max_assignments: int) -> str:
        return _("%(rate)s of each payment, tax included") % {"rate": in_percent(self.account.fee_share)}

    def who_adds_money(self) -> str:
        return _("Add money to the workspace at Prolific, under “Finances”.")

    # --- work

    def about_rejecting(self, publication: Publication) -> str:
        checks = _("This study takes about %(minutes)d min: two failed checks are a reason, and one is not.")
        if minutes_of(publication) < SHORT:
            checks = _("This study takes about %(minutes)d min: one failed check is a reason, as it is under five.")
        return " ".join(
            (
                _("The participant is not paid, and reads your reason, which has at least 100 characters."),
                _("Prolific's rules:"),
                checks % {"minutes": minutes_of(publication)},
                _("Work is exceptionally fast if its time is three standard deviations below the mean."),
                _("Whoever was screened out, or did not agree, is never rejected."),
                _("Work whose test pairs failed is excluded here without a rejection, and paid."),
                _("A rejection cannot be taken back from here. Asking for a return is kinder: it leaves no mark."),
            )
        )

    def about_reversing(self) -> str:
        return _("Ask Prolific's support to have the rejection reversed.")

    def about_writing(self) -> str:
        return _(
            "Prolific passes a message on to the participant, without a subject. What they answer there is read here "
            "every minute."
        )

    def write_to(
        self, client: Any, publication: Publication, *, subject: str, text: str, worker_ids: list[str]
    ) -> dict[str, str]:
        """POST /messages/, or /messages/bulk/ for several. It reaches all of them or none."""
        about = {"body": text, "study_id": publication.hit_type_id}
        if len(worker_ids) == 1:
            client.post("messages/", {"recipient_id": worker_ids[0], **about})
        else:
            client.post("messages/bulk/", {"ids": worker_ids, **about})
        return {}

    def messages_after(self, cursor: str) -> list[Heard]:
        """GET /messages/, but for what the account itself wrote. The cursor is when the last one was sent; the minutes
        before it are asked for again, since messages may become visible out of order.
        """
        now = timezone.now()
        earliest = now - OLDEST_MESSAGES
        since = parse_datetime(cursor) if cursor else None
        since = max(earliest, since - OVERLAP) if since is not None else earliest
        client = self.client(read_seconds=PATIENCE)
        page = client.get("messages/", {"created_after": since.isoformat(), "excluded_sender_ids": self._user(client)})
        heard = []
        for row in page.get("results") or []:
            at = parse_datetime(str(row["sent_at"])) or now
            study = str((row.get("data") or {}).get("study_id") or "")
            text = str(row["body"])
            sender, key = str(row["sender_id"]), str(row["id"])
            heard.append(Heard(key, sender, "", text.partition("\n")[0], text, at, at.isoformat(), study))
        return sorted(heard, key=lambda row: (row.sent_at, row.message_id))

    def _user(self, client: Client) -> str:
        """The account's own id, kept for a day."""
        key = f"prolific-user-{self.account.pk}-{self.account.at.timestamp()}"
        user: str | None = cache.get(key)
        if user is None:
            user = str(client.get("users/me/")["id"])
            cache.set(key, user, 86_400)
        return user

    def changes(
        self, client: Any, publication: Publication, before: dict[str, int], *, at: datetime, everything: bool
    ) -> Changes:
        """One request where the counts are the same, a few where they are not; the whole list where it must be."""
        answer = client.get(f"studies/{publication.hit_type_id}/submissions/counts/")
        counts = {str(state): int(count) for state, count in answer.items()}
        is_quiet = not any(counts.get(state) for state in (*AT_WORK, "AWAITING REVIEW"))
        if counts == before and not everything:
            return Changes([], [], [], counts, is_quiet)
        deciding = _being_decided(publication)
        rows = None if everything else self._news(client, publication, counts, before, deciding, at)
        if is_all := rows is None:
            rows = list(submissions_of(client, publication.hit_type_id))
        left, returning = self._left(publication, rows), self._to_be_returned(publication, rows)
        back = returning.union(left, _paid_apart(publication, rows))
        works = [self.work_of(row) for row in rows if row["status"] in STATUSES and row["id"] not in back]
        gone = [str(row["id"]) for row in rows if row["status"] in GONE]
        late = [self.work_of(row) for row in rows if row["id"] in returning and _is_late(row, at)] if is_all else None
        return Changes(works, gone, left, {} if deciding else counts, is_quiet, late)

    def places_taken(self, counts: Mapping[str, int]) -> tuple[int, int]:
        at_work = sum(counts.get(state, 0) for state in AT_WORK)
        return at_work + sum(counts.get(state, 0) for state in ("AWAITING REVIEW", *DECIDED)), at_work

    def _news(
        self,
        client: Any,
        publication: Publication,
        counts: dict[str, int],
        before: dict[str, int],
        deciding: set[str],
        at: datetime,
    ) -> list[Answer] | None:
        """The submissions that may be other than we know, where that can be told from few; None where it cannot.

        What waits for review is listed, as far as it is new where all that waits here must wait there too. Of what is
        known here to wait, or to be at work, and is not so there, each is asked about. Whatever else was decided there,
        nobody here knows which.
        """
        study, there_waiting = publication.hit_type_id, counts.get("AWAITING REVIEW", 0)
        decided = sum(counts.get(state, 0) for state in DECIDED)
        known_here = publication.submissions.filter(status__in=(Status.APPROVED, Status.REJECTED)).count()
        known_here += len(_shared(publication))
        waiting = publication.submissions.filter(status=Status.SUBMITTED)
        missing = set(waiting.values_list("platform_assignment_id", flat=True)) - deciding
        some_went = any(counts.get(state) != before.get(state) for state in GONE)
        if not some_went and not deciding and decided == known_here and there_waiting >= len(missing):
            newest = submissions_of(client, study, WAITING, NEWEST)  # read no further than the last that is unknown
            return list(islice((row for row in newest if str(row["id"]) not in missing), there_waiting - len(missing)))
        rows = list(submissions_of(client, study, WAITING)) if there_waiting else []
        waiting_keys = {str(row["id"]) for row in rows}
        if some_went:
            begun = Assignment.objects.filter(campaign=publication.campaign_id, submission=None, leased_until__gt=at)
            missing |= set(begun.exclude(platform_assignment_id="").values_list("platform_assignment_id", flat=True))
            if missing - waiting_keys and counts.get("ACTIVE"):
                waiting_keys |= {str(row["id"]) for row in submissions_of(client, study, "ACTIVE")}
        missing -= waiting_keys
        if len(missing) > MOST_LOOKS:
            return None
        rows += [_as_in_list(client.get(f"submissions/{key}/")) for key in sorted(missing)]
        known_here += len(deciding) + sum(row["status"] in DECIDED for row in rows)
        return rows if decided <= known_here else None

    def submitted(self, client: Any, platform_hit_id: str) -> Iterator[Answer]:
        """The submissions of those to whom we gave this HIT, matched by their ids, whatever code they came with. Those
        of people who got none here are on one of the study's HITs, so that a person decides on them.
        """
        published_hit = PublishedHit.objects.select_related("publication__campaign").get(
            platform_hit_id=platform_hit_id, publication__campaign__lab=self.lab_id
        )
        if published_hit.hit_id is None:
            return
        publication = published_hit.publication
        here = self._by_hit(client, publication).get(published_hit.pk, [])
        rows = [row for row in here if row["status"] in STATUSES]
        back = self._to_be_returned(publication, rows)
        back |= {*self._left(publication, rows), *_paid_apart(publication, rows)}
        of_hit = Assignment.objects.filter(campaign=publication.campaign_id, hit=published_hit.hit_id)
        mine = {row.platform_assignment_id: row for row in of_hit.exclude(platform_assignment_id="")}
        for row in rows:
            if row["id"] not in back:
                yield self._with_receipt(publication, row, mine.get(str(row["id"])))

    @staticmethod
    def _with_receipt(publication: Publication, row: Answer, assignment: Assignment | None) -> Answer:
        """A submission with the receipt of our assignment, where that is finished."""
        done = assignment is not None and publication.is_done(assignment)
        return row | {"receipt": assignment.receipt if assignment is not None and done else ""}

    def _by_hit(self, client: Any, publication: Publication) -> dict[int, list[Answer]]:
        """A study's submissions by the HIT there that they are on: where they are stored, or whose work they are, or
        for those of nobody here the first that is still asked about.
        """
        rows = self._rows(client, publication.hit_type_id)
        cached: tuple[list[Answer], dict[int, list[Answer]]] | None = client.kept_by_hit
        if cached is not None and cached[0] is rows:
            return cached[1]
        ours = publication.published_hits.filter(hit__isnull=False).order_by("id")
        posted = dict(ours.values_list("hit", "pk"))  # the newest round of each
        stray = ours.filter(next_poll_at__isnull=False).first() or ours.first()
        placed = Assignment.objects.filter(campaign=publication.campaign_id).exclude(platform_assignment_id="")
        at = {key: posted[hit] for key, hit in placed.values_list("platform_assignment_id", "hit") if hit in posted}
        at |= dict(publication.submissions.values_list("platform_assignment_id", "published_hit"))
        by_hit: dict[int, list[Answer]] = {}
        for row in rows:
            home = at.get(str(row["id"]), stray.pk if stray else None)
            if home is not None:
                by_hit.setdefault(home, []).append(row)
        client.kept_by_hit = (rows, by_hit)
        return by_hit

    @staticmethod
    def _left(publication: Publication, rows: Iterable[Answer]) -> list[str]:
        """Those of submissions that wait for review although their people left early here: a share of the reward is
        paid for them, whatever code they came with.
        """
        waiting = [str(row["id"]) for row in rows if row["status"] == "AWAITING REVIEW"]
        leavers = Assignment.objects.filter(
            campaign=publication.campaign_id,
            platform_assignment_id__in=waiting,
            state=Assignment.State.LEFT,
            judged__gt=0,
            submission=None,
            owed__lte=amount_of_share(publication.listed, MOST),
        )
        # What a person decides on, or was paid apart as a bonus, is submitted work as any other.
        others = publication.submissions.filter(platform_assignment_id__in=waiting).exclude(status=Status.RETURNED)
        leavers = leavers.exclude(platform_assignment_id__in=others.values("platform_assignment_id"))
        leavers = leavers.exclude(Exists(_paid_as_bonus(publication).filter(payment__assignment=OuterRef("pk"))))
        left = list(leavers.values_list("platform_assignment_id", flat=True))
        return left if left and shares(publication) else []

    @staticmethod
    def _to_be_returned(publication: Publication, rows: Iterable[Answer]) -> set[str]:
        """Those of submissions whose people came back with a code after which they are returned, and neither submitted
        anything here nor were paid for it apart, as a bonus.
        """
        codes = {code_of_ending(publication, ending) for ending in RETURN_REASONS}
        back = {str(row["id"]) for row in rows if row["status"] == "AWAITING REVIEW" and row.get("study_code") in codes}
        if not back:
            return back
        returned = Assignment.objects.filter(campaign=publication.campaign_id, platform_assignment_id__in=back)
        paid = Exists(_paid_as_bonus(publication).filter(payment__assignment=OuterRef("pk")))
        done = returned.filter(paid | Q(state=Assignment.State.SUBMITTED))
        return back - set(done.values_list("platform_assignment_id", flat=True))

    def _rows(self, client: Any, study: str) -> list[Answer]:
        """A study's submissions, as one client keeps them for a minute."""
        cached: tuple[float, str, list[Answer]] | None = client.kept_rows
        if cached is None or cached[1] != study or time.monotonic() - cached[0] > ROWS_KEPT:
            cached = client.kept_rows = (time.monotonic(), study, list(submissions_of(client, study)))
        return cached[2]

    def look(self, client: Any, publication: Publication, assignment_id: str) -> Seen:
        """GET /submissions/{id}/, whose rows are named otherwise than those of the list."""
        answer = client.get(f"submissions/{assignment_id}/")
        if answer["study_id"] != publication.hit_type_id:
            return Seen(is_over=False, work=None)
        row = _as_in_list(answer)
        rows = Assignment.objects.filter(campaign=publication.campaign_id, platform_assignment_id=assignment_id)
        assignment = rows.first()
        apart = self._left(publication, [row]) or _paid_apart(publication, [row])
        if row["status"] not in STATUSES or apart or self._to_be_returned(publication, [row]):
            return Seen(is_over=row["status"] in GONE, work=None)
        return Seen(is_over=False, work=self.work_of(self._with_receipt(publication, row, assignment)))

    def work_of(self, answer: Answer) -> Work:
        completed = parse_datetime(answer.get("completed_at") or "")
        started = parse_datetime(answer.get("started_at") or "")
        return Work(
            assignment_id=str(answer["id"]),
            worker_id=str(answer["participant_id"]),
            status=STATUSES[answer["status"]],
            submitted_at=completed,
            auto_approval_at=None if completed is None else completed + APPROVED_BY_ITSELF,
            approval=answer["status"] if answer["status"] != "AWAITING REVIEW" else "",
            receipt=str(answer.get("receipt", "")),
            seconds=(completed - started).total_seconds() if completed and started else None,
        )

    def approved_within(self, publication: Publication) -> timedelta:
        return APPROVED_BY_ITSELF

    def visit_of(self, parameters: Mapping[str, str]) -> Visit:
        return Visit(*(parameters.get(name, "") for name in ("STUDY_ID", "PROLIFIC_PID", "SESSION_ID")))

    def check_visit(self, publication: Publication, parameters: Mapping[str, str], *, goes_on: bool) -> None:
        """The `prolific_token`: checked where there is one, and demanded where the study was made with signed
        addresses. It is for the address that the study was made with.
        """
        token, study = parameters.get("prolific_token", ""), publication.operations.filter(kind=Kind.HIT_TYPE).first()
        if not token and (study is None or not study.result.get(SIGNED)):
            return
        if not token:
            raise BadRequest(_("This address lacks Prolific's signature. Open the study from Prolific's page again."))
        token_check(
            token,
            address=str(study.request["external_study_url"]) if study is not None else "",
            workspace_id=self.account.workspace_id,
            parameters=parameters,
            may_be_old=goes_on,
        )

    def confirm_arrival(self, publication: Publication, *, study: str, worker_id: str, assignment_id: str) -> None:
        """GET /submissions/{id}/ must show this participant, this study, and that they are at work."""
        unknown = BadRequest(_("Prolific does not know of this visit. Open the study from Prolific's page again."))
        if not all(map(may_be_an_id, (study, worker_id, assignment_id))) or study not in (
            publication.hit_type_id,
            publication.test_study_id,
        ):
            raise unknown
        try:
            answer = self.client(read_seconds=4).get(f"submissions/{assignment_id}/")
        except self.errors as error:
            if trouble_of(error) == Trouble.REFUSED:
                raise unknown from error
            raise NotNow(_("Prolific does not answer at the moment. Please reload this page in a minute.")) from error
        if answer.get("study_id") != study or answer.get("participant") != worker_id:
            raise unknown
        if answer.get("status") not in AT_WORK:
            raise NotNow(_("At Prolific, this submission is over. Open the study from Prolific's page again."))
        try:
            check_earlier(publication, worker_id)
        except NotNow as refused:
            way_back = self.exit_of(publication, Ending.NOTHING)
            refused.way_out = (way_back.address, _("Return to %(panel)s") % {"panel": way_back.panel})
            raise

    def exit_of(self, publication: Publication, ending: Ending) -> Exit:
        code = code_of_ending(publication, ending)
        return Exit("Prolific", code, f"{settings.PROLIFIC_APP_URL}/submissions/complete?cc={code}")

    # --- the ledger

    def marked_hits(self, client: Any, publication: Publication) -> dict[str, MarkedHit]:
        """Our HITs by the study that bears our mark; a published study of our mark that is unknown here, by its id."""
        mark = mark_of(publication)
        marked: dict[str, MarkedHit] = {}
        for study in client.listed(f"projects/{self.account.project_id}/studies/"):
            if study.get("internal_name") != mark or study["status"] == "UNPUBLISHED":
                continue
            hit = MarkedHit(mark, amount_of(study["reward"]))
            if study["id"] != publication.hit_type_id:
                marked[str(study["id"])] = hit
                continue
            ours = publication.published_hits.filter(hit__isnull=False).exclude(platform_hit_id="")
            marked |= dict.fromkeys(ours.values_list("platform_hit_id", flat=True), hit)
        return marked

    def mark_of(self, operation: Operation) -> str:
        return mark_of(operation.publication)

    def reward_of(self, client: Any, platform_hit_id: str) -> Decimal:
        return amount_of(client.get(f"studies/{platform_hit_id.partition('-')[0]}/")["reward"])

    def bonuses_of(self, client: Any, platform_hit_id: str) -> Decimal:
        """The bonuses of the submissions that are known on a HIT, without compensations; of a compensation, its own."""
        published_hit = PublishedHit.objects.get(
            platform_hit_id=platform_hit_id, publication__campaign__lab=self.lab_id
        )
        if published_hit.hit_id is None and (percent := _percent_paid(published_hit)):
            submission = client.get(f"submissions/{platform_hit_id}/")
            reward = amount_of(client.get(f"studies/{submission['study_id']}/")["reward"])
            bonuses = sum(map(amount_of, submission.get("bonus_payments") or []), Decimal("0.00"))
            is_paid = submission["status"] == "PARTIALLY APPROVED"
            return bonuses + (amount_of_share(reward, percent) if is_paid else Decimal(0))
        publication, is_ours = published_hit.publication, published_hit.hit_id is not None
        matched = publication.submissions.filter(published_hit__hit__isnull=False)
        sessions = [platform_hit_id]
        if is_ours:
            sessions = list(published_hit.submissions.values_list("platform_assignment_id", flat=True))
        # A compensation counts by itself; what else was paid on its submission, with the HIT that this is known on.
        alone = not is_ours and not matched.filter(platform_assignment_id=platform_hit_id).exists()
        paid_apart: dict[str, list[Decimal]] = {}
        for key, amount in _paid_as_bonus(publication).values_list("request__submission", "payment__amount"):
            paid_apart.setdefault(key, []).append(amount)
        total = Decimal("0.00")
        for key in sessions:
            paid = list(map(amount_of, client.get(f"submissions/{key}/").get("bonus_payments") or []))
            compensations = sum((amount for amount in paid_apart.get(key, []) if amount in paid), Decimal("0.00"))
            whole = sum(paid, Decimal("0.00"))
            total += whole if alone else whole - compensations if is_ours else compensations
        return total

    # --- notifications

    def may_notify(self, site: str) -> bool:
        """To https addresses that are not this machine's own; where Prolific itself is at one of these, to any."""
        api, here = urlsplit(settings.PROLIFIC_API_URL), urlsplit(site)
        return _is_local(api.hostname) or (here.scheme == "https" and not _is_local(here.hostname))

    def hook_secret(self, client: Any) -> str:
        return hooks.secret_of(client, self.account.workspace_id)

    def keep_hooks(self, client: Any, address: str) -> None:
        hooks.keep_subscribed(client, self.account.workspace_id, address)

    def end_hooks(self, client: Any, address: str) -> None:
        hooks.end_subscriptions(client, self.account.workspace_id, address)

    def notice_of(self, *, secret: str, headers: Mapping[str, str], body: bytes, at: datetime) -> Notice | None:
        if not hooks.is_genuine(secret=secret, headers=headers, body=body, at=at):
            return None
        return hooks.notice_of(headers, body)


def _is_late(row: Answer, at: datetime) -> bool:
    """Whether somebody came back long enough ago to have returned a submission."""
    came_back = parse_datetime(str(row["completed_at"]))
    return came_back is not None and came_back <= at - TIME_TO_RETURN


def _as_in_list(answer: Answer) -> Answer:
    """A submission that was asked for alone, as the list names its parts."""
    return answer | {"participant_id": answer["participant"], "study_code": answer.get("entered_code")}


def _paid_apart(publication: Publication, rows: Iterable[Answer]) -> set[str]:
    """Those of submissions that are partially approved because we paid a share of the reward."""
    partial = {str(row["id"]) for row in rows if row["status"] == "PARTIALLY APPROVED"}
    return partial & _shared(publication) if partial else partial


def _shared(publication: Publication) -> set[str]:
    """Submissions of which a share of the reward was paid, or may have been: they are compensations here."""
    calls = publication.operations.filter(kind=Kind.COMPENSATE, request__has_key="percentage_of_reward")
    return set(calls.exclude(first_sent_at=None).values_list("payment__assignment__platform_assignment_id", flat=True))


def _paid_as_bonus(publication: Publication) -> QuerySet[Operation]:
    """The calls that paid a compensation as a bonus, or may have."""
    calls = publication.operations.filter(kind=Kind.COMPENSATE, result__has_key="batch")
    return calls.exclude(state=Operation.State.REFUSED)


def _percent_paid(published_hit: PublishedHit) -> int:
    """The share of the reward that was paid as a compensation; 0 if it was paid as a bonus, or is not."""
    results = published_hit.operations.filter(kind=Kind.COMPENSATE).values_list("result", flat=True)
    return max((int(result.get("percentage_of_reward", 0)) for result in results), default=0)


def _being_decided(publication: Publication) -> set[str]:
    """Submissions whose approval or rejection is on its way, or in doubt: the outbox finds out."""
    calls = publication.operations.filter(kind__in=(Kind.APPROVE, Kind.REJECT), ended_at=None)
    sent = calls.filter(first_sent_at__isnull=False, submission__status=Status.SUBMITTED)
    return set(sent.values_list("submission__platform_assignment_id", flat=True))


def _is_local(host: str | None) -> bool:
    return host in (None, "", "localhost", "127.0.0.1", "::1")


def _client(token: str, read_seconds: int | None) -> Client:
    return Client(url=settings.PROLIFIC_API_URL, token=token, read_seconds=read_seconds or READ_SECONDS)

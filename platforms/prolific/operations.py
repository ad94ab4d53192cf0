"""How the calls of each kind are made at Prolific.

A campaign is one study, and its places are the HITs times their assignments. What is asked for is a state (so many
places, approved, paused), which is looked at first, so that asking again changes nothing. Only the payment of a bonus
is not so: it is sent once, after the batch that it pays was stored, and whatever becomes of that call, it is never sent
again (`PaidOnce`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil, sqrt
from typing import Any, ClassVar

from django.db import transaction
from django.db.models import Sum
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from platforms.adapter import Trouble
from platforms.addresses import study_address
from platforms.calls import (
    BONUSES,
    Answer,
    Handler,
    exclusion_name,
    hit_of,
    payment_of,
    payments_settle,
    submission_of,
    terms_of,
    worker_of,
)
from platforms.models import LabAccount, Operation, Payment, Publication, PublishedHit, Submission, TermsVersion
from platforms.prolific.client import ERRORS, ProlificError, WrongState, amount_of, cents, submissions_of, trouble_of
from platforms.prolific.endings import (
    RETURN_REASONS,
    SHARES,
    code_of_ending,
    code_of_share,
    may_share,
    percent_paying,
    shares,
)
from platforms.prolific.offers import SECURE
from platforms.reviewing.protocol import Ending
from tasks import selectors as task_selectors
from tasks.models import Assignment, Hit, Platform

Kind = Operation.Kind
FIRST_POLL = timedelta(minutes=2)  # after a study was published
NO_END = timedelta(days=3650)  # a study has no lifetime: it is open until it is paused or stopped
SHARE_MESSAGE = gettext_lazy("Thank you. This is for what you answered before you left.")
BLOCKLIST = "participant_group_blocklist"
DEVICES = ["desktop", "tablet", "mobile"]
SIGNED = "is_external_study_url_secure"
DONE_WELL = ("APPROVED", "PARTIALLY APPROVED")
BULK_PAUSES = (0.5, 1.0, 2.0)  # seconds between looks at whether submissions that were approved at once are so
MOST_LOOKS = 25  # submissions that are asked about one by one
NOT_YET = ("ACTIVE", "RESERVED")
OVER_UNPAID = ("RETURNED", "TIMED-OUT")


class ProlificHandler(Handler):
    """One kind of operation, which may be asked for again: what is so already is found, and not changed."""

    def recall(self, client: Any, error: Exception, operation: Operation) -> Answer:
        """Prolific knows no tokens, so no call is refused because of one."""
        raise error


# --- what must be there before the study is published


class ExclusionType(ProlificHandler):
    """Makes the group of participants who get no more HITs: one for each lab."""

    def request(self, operation: Operation) -> Answer:
        workspace = account_of(operation.publication).workspace_id
        return {"workspace_id": workspace, "name": exclusion_name(operation, "name")}

    def make(self, client: Any, operation: Operation) -> Answer:
        """Make it, or find ours of that name."""
        return self.find(client, operation) or client.post("participant-groups/", operation.request)

    def find(self, client: Any, operation: Operation) -> Answer | None:
        body = operation.request
        groups = client.listed("participant-groups/", workspace_id=body["workspace_id"])
        ours = next((group for group in groups if group.get("name") == body["name"]), None)
        return None if ours is None else {"id": ours["id"], "found": True}

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        Publication.objects.filter(pk=operation.publication_id, exclusion_id="").update(exclusion_id=answer["id"])


class HitType(ProlificHandler):
    """Makes the draft of the study. A draft costs nothing."""

    def request(self, operation: Operation) -> Answer:
        return study_request(operation.publication, operation.publication.exclusion_id)

    def make(self, client: Any, operation: Operation) -> Answer:
        """Make it, or find ours where an answer was lost."""
        lost = self.find(client, operation) if operation.attempts > 1 else None
        return lost or _drafted(client.post("studies/", operation.request))

    def find(self, client: Any, operation: Operation) -> Answer | None:
        """The study that has our mark as its internal name."""
        body = operation.request
        studies = client.listed(f"projects/{body['project']}/studies/")
        ours = next((study for study in studies if study.get("internal_name") == body["internal_name"]), None)
        return None if ours is None else _drafted(client.get(f"studies/{ours['id']}/")) | {"found": True}

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        TermsVersion.objects.filter(pk=terms_of(operation).pk).update(hit_type_id=answer["id"])
        Publication.objects.filter(pk=operation.publication_id).update(hit_type_id=answer["id"])


def _drafted(study: Answer) -> Answer:
    actions = [action["action"] for code in study.get("completion_codes") or [] for action in code["actions"]]
    offers = {SIGNED: bool(study.get(SIGNED)), SHARES: "DYNAMIC_PAYMENT" in actions}
    return {"id": study["id"], "status": study["status"], **offers}


def mark_of(publication: Publication) -> str:
    """By what our study is known among the lab's others: its internal name."""
    return f"bestknown {publication.reference}"


def account_of(publication: Publication) -> LabAccount:
    return LabAccount.objects.get(lab=publication.campaign.lab_id, platform=Platform.PROLIFIC)


def places_of(publication: Publication) -> int:
    """How many places its study has, or is to have: all assignments that were asked for so far."""
    ours = publication.published_hits.filter(hit__isnull=False)
    count: int = ours.aggregate(count=Sum("max_assignments", default=0))["count"]
    return count


def minutes_of(publication: Publication) -> int:
    """How long a HIT takes, in minutes, as participants are told."""
    pace = task_selectors.expected_pace(publication.campaign, publication.assignment_duration)
    return int(pace.minutes) if pace is not None else max(1, allowed_minutes(publication) // 3)


def allowed_minutes(publication: Publication) -> int:
    """How long a participant may take for a HIT, in minutes."""
    return ceil(publication.assignment_duration.total_seconds() / 60)


def least_allowed(minutes: int) -> int:
    """The least time that Prolific lets a study of so many minutes allow: 2 + 2 t + 2 √t, in whole minutes."""
    return ceil(2 + 2 * minutes + 2 * sqrt(minutes))


def study_request(publication: Publication, exclusion_id: str) -> Answer:
    campaign, account = publication.campaign, account_of(publication)
    waiting: int = Hit.objects.filter(campaign=campaign).aggregate(count=Sum("needed", default=0))["count"]
    actions: dict[Ending, dict[str, Any]] = {
        ending: {"action": "REQUEST_RETURN", "return_reason": str(reason)} for ending, reason in RETURN_REASONS.items()
    }
    researchers: list[dict[str, Any]] = []
    if may_share(publication, account):
        del actions[Ending.LEFT]  # it is not returned: a share of the reward is paid
        share = {"code": code_of_share(publication), "code_type": "OTHER SHARE", "actor": "researcher"}
        researchers.append(share | {"actions": [{"action": "DYNAMIC_PAYMENT"}]})
    kinds = {Ending.FINISHED: "COMPLETED", Ending.FAILED: "FAILED_ATTENTION_CHECK", Ending.DECLINED: "NO_CONSENT"}
    return {
        "name": publication.title,
        "internal_name": mark_of(publication),
        "description": publication.description,
        "external_study_url": study_address(publication),
        "prolific_id_option": "url_parameters",
        **({SIGNED: True} if SECURE in account.offers else {}),
        "completion_codes": [
            {
                "code": code_of_ending(publication, ending),
                "code_type": kinds.get(ending, f"OTHER {ending.name}"),
                "actions": [actions.get(ending, {"action": "MANUALLY_REVIEW"})],
            }
            for ending in Ending
        ]
        + researchers,
        "total_available_places": max(1, waiting),
        "estimated_completion_time": minutes_of(publication),
        "maximum_allowed_time": allowed_minutes(publication),
        "reward": cents(publication.listed),
        "device_compatibility": DEVICES,
        "filters": [*publication.requirements, {"filter_id": BLOCKLIST, "selected_values": [exclusion_id]}],
        "submissions_config": {"max_submissions_per_participant": campaign.hits_per_worker or -1},
        "project": account.project_id,
        "metadata": mark_of(publication),
    }


class Retype(ProlificHandler):
    """Puts a HIT under newer terms. Nothing is asked: terms that the study would have to change for are refused."""

    def request(self, operation: Operation) -> Answer:
        return {}

    def make(self, client: Any, operation: Operation) -> Answer:
        return {}

    def find(self, client: Any, operation: Operation) -> None:
        """Nothing."""

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        PublishedHit.objects.filter(operations=operation).update(hit_type_id=terms_of(operation).hit_type_id)


# --- the study and its places


class Places(ProlificHandler):
    """Has the study offer so many places. How many there are to be in all is asked for, so it may be asked again."""

    def make(self, client: Any, operation: Operation) -> Answer:
        """Publish the draft with them, or raise them. What is so already stays."""
        body, path = operation.request, f"studies/{operation.request['study']}/"
        places, study = int(body["total_available_places"]), _settled(client, path)
        if study["status"] == "UNPUBLISHED":
            if int(study["total_available_places"]) != places:
                client.patch(path, {"total_available_places": places})
            study = client.post(f"{path}transition/", {"action": "PUBLISH"})
        elif int(study["total_available_places"]) < places:
            study = client.patch(path, {"total_available_places": places})
        return _shown(study)

    def find(self, client: Any, operation: Operation) -> Answer | None:
        body = operation.request
        study = client.get(f"studies/{body['study']}/")
        enough = int(study["total_available_places"]) >= int(body["total_available_places"])
        return _shown(study) | {"found": True} if enough and study["status"] != "UNPUBLISHED" else None


def _settled(client: Any, path: str) -> Answer:
    """A study that is not being published now."""
    study: Answer = client.get(path)
    if study["status"] in ("SCHEDULED", "PUBLISHING"):
        raise WrongState(_("The study is being published."))
    return study


def _shown(study: Answer) -> Answer:
    names = ("id", "status", "total_available_places", "reward")
    return {name: study[name] for name in names if name in study}


class Create(Places):
    """Publishes the study with the places of the HITs that were planned so far."""

    opens = True

    def request(self, operation: Operation) -> Answer:
        """The study, its places, and up to which of our HITs they are for."""
        publication, published_hit = operation.publication, hit_of(operation)
        return {
            "study": publication.hit_type_id,
            "total_available_places": places_of(publication),
            "up_to": published_hit.pk,
        }

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """The HITs are at the platform: their ids are the study's with their number and round."""
        Publication.objects.select_for_update(no_key=True).get(pk=operation.publication_id)
        study = operation.request["study"]
        ours = PublishedHit.objects.filter(publication=operation.publication_id, hit__isnull=False)
        planned = ours.filter(platform_hit_id="", pk__lte=operation.request["up_to"])
        numbers = dict(planned.values_list("pk", "hit__number"))
        rows = list(planned.select_for_update(no_key=True, of=("self",)))
        for row in rows:
            row.platform_hit_id = f"{study}-{numbers[row.pk]}-{row.round}"
            row.hit_type_id, row.posted_at = study, at
            row.expires_at, row.next_poll_at = at + NO_END, at + FIRST_POLL
        names = ["platform_hit_id", "hit_type_id", "posted_at", "expires_at", "next_poll_at"]
        PublishedHit.objects.bulk_update(rows, names, batch_size=1000)


class Extend(Places):
    """Asks for more places, because a HIT needs more assignments: its turn is how many the HIT is to have."""

    def request(self, operation: Operation) -> Answer:
        publication, published_hit = operation.publication, hit_of(operation)
        more = operation.turn - published_hit.max_assignments
        return {"study": publication.hit_type_id, "total_available_places": places_of(publication) + more}


class Expire(ProlificHandler):
    """Pauses the study; stops it where no HIT needs work any more."""

    def request(self, operation: Operation) -> Answer:
        publication = operation.publication
        is_short = Hit.objects.filter(campaign=publication.campaign_id, needed__gt=0).exists()
        is_short = is_short and publication.campaign.state != publication.campaign.State.CLOSED
        return {"study": publication.hit_type_id, "action": "PAUSE" if is_short else "STOP"}

    def make(self, client: Any, operation: Operation) -> Answer:
        """Move it from where it is; what is not open stays as it is."""
        body, path = operation.request, f"studies/{operation.request['study']}/"
        study = _settled(client, path)
        movable = ("ACTIVE", "PAUSED") if body["action"] == "STOP" else ("ACTIVE",)
        if study["status"] in movable:
            study = client.post(f"{path}transition/", {"action": body["action"]})
        return _shown(study)

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """Nobody begins any more. A study that has no free place cannot be paused, and need not be for now."""
        if operation.until is None or answer.get("status") != "AWAITING REVIEW":
            self.store(operation, at, at)

    def find(self, client: Any, operation: Operation) -> None:
        """Looked at whenever it is made."""

    def store(self, operation: Operation, expires_at: datetime, at: datetime) -> None:
        """All HITs end then, and are asked about now."""
        ours = PublishedHit.objects.filter(publication=operation.publication_id, hit__isnull=False)
        ours.exclude(platform_hit_id="").update(expires_at=expires_at, next_poll_at=at)


class Reopen(Expire):
    """Opens a paused study again."""

    opens = True

    def request(self, operation: Operation) -> Answer:
        return {"study": operation.publication.hit_type_id, "action": "START"}

    def make(self, client: Any, operation: Operation) -> Answer:
        """Start it; a study that is open stays so. One that was stopped cannot be started."""
        path = f"studies/{operation.request['study']}/"
        study = client.get(path)
        if study["status"] == "PAUSED":
            study = client.post(f"{path}transition/", {"action": "START"})
        elif study["status"] == "COMPLETED":
            text = _("The study was completed at Prolific, and only more places open it again.")
            raise ProlificError(409, "completed", text)
        return _shown(study)

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        self.store(operation, at + NO_END, at)


# --- submissions


class Approve(ProlificHandler):
    """Approves a submission, which pays the reward. Only one that waits for review is approved."""

    at_once = 1000  # what Prolific recommends at most
    done: ClassVar[tuple[str, ...]] = DONE_WELL  # the states of what need not be asked for again

    def request(self, operation: Operation) -> Answer:
        return {"submission": submission_of(operation).platform_assignment_id, "action": "APPROVE"}

    def make(self, client: Any, operation: Operation) -> Answer:
        path = f"submissions/{operation.request['submission']}/"
        submission = _state(client.get(path))
        if submission["status"] in DONE_WELL:
            return submission | {"found": True}
        if submission["status"] in NOT_YET:
            raise WrongState(_("The participant is at work on it still."))
        if submission["status"] != "AWAITING REVIEW":
            text = _("The submission is %(status)s at Prolific, so it cannot be approved.")
            raise ProlificError(409, "not_reviewable", text % {"status": submission["status"]})
        try:
            return _state(client.post(f"{path}transition/", {"action": "APPROVE"}))
        except ProlificError as error:
            if trouble_of(error) != Trouble.REFUSED:
                raise
            submission = _state(client.get(path))
            if submission["status"] in DONE_WELL:
                return submission | {"found": True}
            if submission["status"] in (*NOT_YET, "AWAITING REVIEW"):  # it raced with its participant: later
                raise WrongState(str(error)) from error
            raise

    def make_together(self, client: Any, operations: Sequence[Operation]) -> dict[int, Answer]:
        """POST /submissions/bulk-approve/ for those that wait for review; they are approved in its own time. Which are
        is looked at afterwards.
        """
        study, keys = operations[0].publication.hit_type_id, {row.request["submission"]: row.pk for row in operations}
        rows = _among(client, study, "AWAITING_REVIEW", keys)
        if not rows:
            return {}
        client.post("submissions/bulk-approve/", {"submission_ids": sorted(rows)})
        left = rows
        for pause in (0.0, *BULK_PAUSES):
            client.sleep(pause)
            left = _among(client, study, "AWAITING_REVIEW", rows)
            if not left:
                break
        gone = {key: rows[key] for key in rows if key not in left}
        if len(gone) > MOST_LOOKS:
            approved = _among(client, study, "APPROVED", gone)
        else:
            states = (_state(client.get(f"submissions/{key}/")) for key in gone)
            approved = {row["id"]: row for row in states if row["status"] in DONE_WELL}
        return {keys[key]: row for key, row in approved.items()}

    def apply_together(self, operations: Sequence[Operation], answers: Mapping[int, Answer], at: datetime) -> None:
        evidence = {
            row.payment_id: self.evidence(row, answers[row.pk]) for row in operations if row.payment_id is not None
        }
        payments_settle(evidence=evidence, at=at)
        approved = [row.submission_id for row in operations if row.submission_id is not None]
        Submission.objects.filter(pk__in=approved).update(status=Submission.Status.APPROVED)

    def find(self, client: Any, operation: Operation) -> Answer | None:
        submission = _state(client.get(f"submissions/{operation.request['submission']}/"))
        return submission | {"found": True} if submission["status"] in self.done else None


class Reject(Approve):
    """Rejects a submission, with the category and the words of whoever decided. The participant is not paid."""

    at_once, done = 1, ("REJECTED",)

    def request(self, operation: Operation) -> Answer:
        submission = submission_of(operation)
        return {
            "submission": submission.platform_assignment_id,
            "action": "REJECT",
            "message": submission.reason,
            "rejection_category": submission.rejection_category or "OTHER",
        }

    def make(self, client: Any, operation: Operation) -> Answer:
        body = dict(operation.request)
        path = f"submissions/{body.pop('submission')}/"
        submission = _state(client.get(path))
        if submission["status"] in self.done:
            return submission | {"found": True}
        if submission["status"] in NOT_YET:
            raise WrongState(_("The participant is at work on it still."))
        return _state(client.post(f"{path}transition/", body))


class AskReturn(ProlificHandler):
    """Asks a participant to return a submission. Who was asked is not asked again."""

    def request(self, operation: Operation) -> Answer:
        submission = submission_of(operation)
        return {
            "submission": submission.platform_assignment_id,
            "reason": submission.return_reason or submission.reason,
        }

    def make(self, client: Any, operation: Operation) -> Answer:
        """Ask, unless that was done or the submission is over."""
        path = f"submissions/{operation.request['submission']}/"
        submission = client.get(path)
        if submission.get("return_requested") or submission["status"] not in (*NOT_YET, "AWAITING REVIEW"):
            return _state(submission) | {"found": True}
        reasons = {"request_return_reasons": [operation.request["reason"]]}
        return _state(client.post(f"{path}request-return/", reasons))

    def find(self, client: Any, operation: Operation) -> Answer | None:
        """The submission, if it was asked back."""
        submission = client.get(f"submissions/{operation.request['submission']}/")
        return _state(submission) | {"found": True} if submission.get("return_requested") else None


def _among(client: Any, study: str, status: str, keys: Mapping[str, Any]) -> dict[str, Answer]:
    """Those of some submissions that are in a state, by id, as far as the list must be read to find them all."""
    rows: dict[str, Answer] = {}
    for row in submissions_of(client, study, status):
        if row["id"] in keys:
            rows[row["id"]] = _state(row)
            if len(rows) == len(keys):
                break
    return rows


def _state(submission: Answer) -> Answer:
    """What is kept of a submission: nothing that names the participant."""
    return {name: submission[name] for name in ("id", "status", "completed_at") if name in submission}


# --- bonuses: one attempt


# Prolific answers at once that it will pay, and pays later; it does not say how much later. A payment that is made anew
# within this time may be paid twice.
PAYS_WITHIN = timedelta(hours=1)


class PaidOnce(ProlificHandler):
    """Pays a bonus: a batch of one is made, which costs nothing, its id is stored, and it is paid by one attempt.

    Prolific pays a batch again whenever it is asked again. So once the id is stored, the call is never made again
    unless the answer said that nothing was paid: it is looked for, and what cannot be told waits for a person.
    """

    def may_repeat(self, operation: Operation) -> bool:
        """As long as no payment may have been sent."""
        return "batch" not in operation.result

    def comes_until(self, operation: Operation) -> datetime | None:
        """Prolific pays some time after it was asked to."""
        asked_at = operation.result.get("asked_at")
        return datetime.fromisoformat(asked_at) + PAYS_WITHIN if asked_at else None

    def request(self, operation: Operation) -> Answer:
        session = submission_of(operation).platform_assignment_id
        return self.batch_of(operation.publication, session, payment_of(operation).amount)

    def make(self, client: Any, operation: Operation) -> Answer:
        body = operation.request
        batch = client.post("submissions/bonus-payments/", {name: body[name] for name in ("study_id", "csv_bonuses")})
        if cents(payment_of(operation).amount) != int(batch["amount"]):
            text = _("Prolific understood %(seen)s cents, where %(wanted)s cents are owed. Nothing was paid.")
            owed = cents(payment_of(operation).amount)
            raise ProlificError(409, "other_amount", text % {"seen": batch["amount"], "wanted": owed})
        facts = {name: batch[name] for name in ("id", "amount", "fees", "vat", "total_amount") if name in batch}
        self._keep(operation, facts)
        try:
            client.post(f"bulk-bonus-payments/{facts['id']}/pay/")
        except ERRORS as error:
            if trouble_of(error) != Trouble.UNKNOWN:  # the answer says that it was not done
                Operation.objects.filter(pk=operation.pk, result__batch=facts).update(result={})
            raise
        return {"batch": facts}

    @staticmethod
    def _keep(operation: Operation, batch: Answer) -> None:
        """Store the batch before it is paid, if this is still the attempt that may pay it. Raises WrongState."""
        assert operation.sent_at is not None
        with transaction.atomic(durable=True):
            mine = Operation.objects.filter(
                pk=operation.pk, state=Operation.State.SENT, attempts=operation.attempts, result={}
            )
            if not mine.update(result={"batch": batch, "asked_at": operation.sent_at.isoformat()}):
                raise WrongState(_("Another process has this payment now. Nothing was paid here."))

    def find(self, client: Any, operation: Operation) -> Answer | None:
        """The bonus, if the submission has one more of its amount than other payments of ours can be."""
        if "batch" not in operation.result:
            return None
        session, amount = operation.request["submission"], int(operation.result["batch"]["amount"])
        paid = Counter(round(float(bonus)) for bonus in client.get(f"submissions/{session}/")["bonus_payments"])
        others = Operation.objects.filter(
            publication=operation.publication_id, kind__in=(*BONUSES, Kind.COMPENSATE), request__submission=session
        ).exclude(pk=operation.pk)
        rivals = others.filter(result__batch__amount=operation.result["batch"]["amount"]).count()
        return {"batch": operation.result["batch"], "found": True} if paid[amount] > rivals else None

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """It is paid, and what Prolific took for it is known to the cent."""
        self.settle(operation, answer, at)
        batch = answer.get("batch") or {}
        if "fees" in batch or "vat" in batch:
            fee = amount_of(batch.get("fees", 0)) + amount_of(batch.get("vat", 0))
            Payment.objects.filter(operations=operation).update(fee=fee)

    @staticmethod
    def batch_of(publication: Publication, session: str, amount: Decimal) -> Answer:
        """POST /submissions/bonus-payments/: a decimal amount, where all others are cents."""
        return {"study_id": publication.hit_type_id, "csv_bonuses": f"{session},{amount:.2f}\n", "submission": session}


class Compensate(PaidOnce):
    """Pays what was done here by whoever left: as a share of the reward where the study can and the submission waits
    for review, and as a bonus where it was returned or timed out.
    """

    def request(self, operation: Operation) -> Answer:
        payment, publication = payment_of(operation), operation.publication
        assert payment.assignment is not None
        batch = self.batch_of(publication, payment.assignment.platform_assignment_id, payment.amount)
        percent = percent_paying(publication.listed, payment.amount)
        if percent is None or payment.assignment.state != Assignment.State.LEFT or not shares(publication):
            return batch
        return batch | {"completion_code": code_of_share(publication), "percentage_of_reward": percent}

    def make(self, client: Any, operation: Operation) -> Answer:
        """Pay it once the submission is over without a reward: approved later, it would be paid twice. A share ends it,
        and asking for that again changes nothing.
        """
        path, percent = f"submissions/{operation.request['submission']}/", operation.request.get("percentage_of_reward")
        status = client.get(path)["status"]
        if percent is not None and status == "PARTIALLY APPROVED":
            return {"percentage_of_reward": percent, "found": True}
        if percent is not None and status == "AWAITING REVIEW":
            data = {"percentage_of_reward": percent, "message_to_participant": str(SHARE_MESSAGE)}
            body = {"action": "COMPLETE", "completion_code": operation.request["completion_code"]}
            answer = client.post(f"{path}transition/", body | {"completion_code_data": data})
            if answer.get("status") != "PARTIALLY APPROVED":
                raise WrongState(_("Prolific has not paid the share of the reward yet."))
            return {"percentage_of_reward": percent, "status": answer["status"]}
        if status in DONE_WELL:
            raise ProlificError(409, "approved", _("The submission was approved at Prolific, and is paid by that."))
        if status not in OVER_UNPAID:
            raise WrongState(_("The submission has not been returned at Prolific, so nothing is paid apart yet."))
        return super().make(client, operation)

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """It is paid. What it is compared by at the platform is the submission."""
        super().apply(operation, answer, at)
        mine = PublishedHit.objects.filter(operations=operation, platform_hit_id="")
        mine.update(platform_hit_id=operation.request["submission"], posted_at=at)


# --- participants who get no more


class Exclude(ProlificHandler):
    """Puts a barred participant into the group that the study shuts out. Doing it again changes nothing."""

    def request(self, operation: Operation) -> Answer:
        return {"group": operation.publication.exclusion_id, "participant_ids": [worker_of(operation).external_id]}

    def make(self, client: Any, operation: Operation) -> Answer:
        """POST /participant-groups/{id}/participants/, or DELETE for whoever is welcome again."""
        change = client.post if operation.kind == Kind.EXCLUDE else client.delete
        path = f"participant-groups/{operation.request['group']}/participants/"
        change(path, {"participant_ids": operation.request["participant_ids"]})
        return {}

    def find(self, client: Any, operation: Operation) -> None:
        """Done again, it is the same."""


HANDLERS: dict[Kind, Handler] = {
    Kind.EXCLUSION_TYPE: ExclusionType(),
    Kind.HIT_TYPE: HitType(),
    Kind.RETYPE: Retype(),
    Kind.CREATE: Create(),
    Kind.EXTEND: Extend(),
    Kind.EXPIRE: Expire(),
    Kind.REOPEN: Reopen(),
    Kind.APPROVE: Approve(),
    Kind.REJECT: Reject(),
    Kind.ASK_RETURN: AskReturn(),
    **dict.fromkeys(BONUSES, PaidOnce()),
    Kind.COMPENSATE: Compensate(),
    **dict.fromkeys((Kind.EXCLUDE, Kind.READMIT), Exclude()),
}

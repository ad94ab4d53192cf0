"""People who come from somebody else's panel, with ids in the address: arriving, leaving, and what they are owed.

Nobody confirms the ids: whoever types those of somebody else works in their name. So before anything is paid, the file
of sessions is compared with the panel's own list.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.errors import NotNow, NotYours
from pools.models import Campaign
from tasks import services as task_services
from tasks.models import Assignment, ConsentText, OutsidePanel, PanelVisit, Platform, Worker

SESSION_LENGTH = 64  # characters
PERSON_LENGTH = 42  # with the panel's name before it, a worker's external_id
SEPARATOR = ": "
OUTCOMES = {
    "finished": gettext_lazy("finished"),
    "failed": gettext_lazy("failed a test pair"),
    "left": gettext_lazy("left early"),
    "at work": gettext_lazy("at work"),
    "nothing left": gettext_lazy("nothing was left"),
    "taken over": gettext_lazy("went on in a later session"),
}


class Visitor(NamedTuple):
    """Who an address says that somebody is."""

    panel: OutsidePanel
    person: str
    session: str


class Exit(NamedTuple):
    """How somebody goes back to the panel: with a code, by an address, or with neither."""

    panel: str
    code: str
    address: str


class VisitRow(NamedTuple):
    """A session, and what came of it. `owed` is in dollars, for what was judged; `judged` and `items` count items."""

    person: str
    session: str
    outcome: str
    exit: str
    judged: int
    items: int
    owed: Decimal
    came_at: datetime
    ended_at: datetime | None
    assignment_id: int | None

    @property
    def said(self) -> str:
        """The outcome, for people."""
        return str(OUTCOMES[self.outcome])


def panel_of(campaign: Campaign) -> OutsidePanel | None:
    return OutsidePanel.objects.filter(campaign=campaign).first()


def visitor_of(campaign: Campaign, query: Mapping[str, str]) -> Visitor | None:
    """Who opens the campaign's link with these parameters; None in a campaign without an outside panel.

    Raises NotYours where the address lacks an id, or has one that no panel gives.
    """
    panel = panel_of(campaign)
    if panel is None:
        return None
    ids = []
    for parameter, length in ((panel.person_parameter, PERSON_LENGTH), (panel.session_parameter, SESSION_LENGTH)):
        value = query.get(parameter, "")
        # A panel that fills nothing in leaves its own placeholder: {{id}}, %id%, ${id}
        if not 1 <= len(value) <= length or not value.isprintable() or set(value) & set("{}%$<> "):
            raise NotYours(
                _("This address lacks your id. Please open the task again where you found it, at %(panel)s.")
                % {"panel": panel.name}
            )
        ids.append(value)
    return Visitor(panel, *ids)


def visit_of(visitor: Visitor) -> PanelVisit | None:
    """The session, if it has begun."""
    visits = PanelVisit.objects.select_related("assignment", "worker")
    return visits.filter(
        panel=visitor.panel, worker__external_id=_external_id(visitor), session=visitor.session
    ).first()


def outside_panel_set(*, campaign: Campaign, **values: str) -> OutsidePanel:
    """Set up a campaign's outside panel, or change it. Raises NotNow for another name once somebody has come."""
    panel = panel_of(campaign)
    if panel is not None and values.get("name", panel.name) != panel.name and panel.visits.exists():
        raise NotNow(_("People have come from this panel, so its name stays: their ids here begin with it."))
    panel, _new = OutsidePanel.objects.update_or_create(campaign=campaign, defaults=values)
    return panel


def outside_panel_delete(*, campaign: Campaign) -> None:
    """Take no more people from an outside panel. Raises NotNow once somebody has come."""
    panel = panel_of(campaign)
    if panel is not None and panel.visits.exists():
        raise NotNow(_("People have come from this panel. Close the campaign to let nobody else in."))
    OutsidePanel.objects.filter(campaign=campaign).delete()


def visit_begin(*, visitor: Visitor, text: ConsentText, at: datetime) -> PanelVisit:
    """A session of somebody who has agreed: with a HIT, the one that they are at already or the next; or with none.

    The same session always has the same HIT. A new session of somebody with an unfinished HIT takes it over.
    """
    campaign = visitor.panel.campaign
    worker, _new = Worker.objects.get_or_create(
        lab=campaign.lab, platform=Platform.PANEL, external_id=_external_id(visitor)
    )
    task_services.consent_give(worker=worker, text=text)
    visit, _new = PanelVisit.objects.get_or_create(
        panel=visitor.panel, worker=worker, session=visitor.session, defaults={"came_at": at}
    )
    if visit.assignment_id is not None:
        return visit
    try:
        assignment = task_services.assignment_take(worker=worker, campaign=campaign, at=at)
    except task_services.NoWork:
        return visit
    with transaction.atomic():
        Worker.objects.select_for_update().get(pk=worker.pk)
        PanelVisit.objects.filter(assignment=assignment).exclude(pk=visit.pk).update(
            assignment=None, is_taken_over=True
        )
        PanelVisit.objects.filter(pk=visit.pk).update(assignment=assignment, is_taken_over=False)
    visit.refresh_from_db()
    return visit


def exit_without_consent(panel: OutsidePanel) -> Exit:
    """How somebody goes back who did not agree."""
    return _exit(panel, panel.no_consent_exit)


def exit_of_worker(worker: Worker, campaign: Campaign) -> Exit | None:
    """How somebody goes back who got no HIT in their newest session; None for everybody else."""
    visit = PanelVisit.objects.filter(worker=worker, panel__campaign=campaign).select_related("panel").last()
    return None if visit is None or visit.assignment_id else _exit(visit.panel, visit.panel.nothing_left_exit)


def exit_of(assignment: Assignment) -> Exit | None:
    """How somebody goes back whose work has ended; None if they came in another way."""
    visit = PanelVisit.objects.filter(assignment=assignment).select_related("panel").first()
    return None if visit is None else _exit(visit.panel, _exit_text(visit.panel, _outcome(assignment)))


def visits_of(campaign: Campaign) -> QuerySet[PanelVisit]:
    """The sessions of a campaign, newest first."""
    return PanelVisit.objects.filter(panel__campaign=campaign).order_by("-id")


def visit_rows(campaign: Campaign, visits: Iterable[PanelVisit]) -> list[VisitRow]:
    """Sessions in their order, each with what came of it."""
    rows = PanelVisit.objects.select_related("panel", "worker", "assignment").in_bulk([visit.pk for visit in visits])
    return [_row(campaign, rows[visit.pk]) for visit in visits]


def _row(campaign: Campaign, visit: PanelVisit) -> VisitRow:
    assignment = visit.assignment
    outcome = "nothing left" if assignment is None else _outcome(assignment)
    outcome = "taken over" if visit.is_taken_over else outcome
    return VisitRow(
        person=visit.worker.external_id.partition(SEPARATOR)[2],
        session=visit.session,
        outcome=outcome,
        exit=_exit_text(visit.panel, outcome),
        judged=assignment.judged if assignment else 0,
        items=campaign.items_per_hit,
        owed=assignment.owed if assignment else Decimal(0),
        came_at=visit.came_at,
        ended_at=assignment.finished_at if assignment else None,
        assignment_id=visit.assignment_id,
    )


def _outcome(assignment: Assignment) -> str:
    if assignment.state == Assignment.State.ACTIVE:
        return "at work"
    if assignment.state == Assignment.State.LEFT:
        return "left"
    return "failed" if assignment.verdict == Assignment.Verdict.EXCLUDED else "finished"


def _exit_text(panel: OutsidePanel, outcome: str) -> str:
    """The code or address of an outcome. Without one of its own, failed work goes the way of finished work."""
    texts: dict[str, Any] = {
        "finished": panel.finished_exit,
        "failed": panel.failed_exit or panel.finished_exit,
        "nothing left": panel.nothing_left_exit,
    }
    return str(texts.get(outcome, ""))


def _exit(panel: OutsidePanel, text: str) -> Exit:
    is_address = text.startswith("https://")
    return Exit(panel.name, "" if is_address else text, text if is_address else "")


def _external_id(visitor: Visitor) -> str:
    return f"{visitor.panel.name}{SEPARATOR}{visitor.person}"

"""oTree's MTurk client, and the admin pages that use it. Its database, forms and templates are stood in for."""

import os
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace as Facts
from typing import Any

from common import finish, package, stand_in, step, work

SOURCE = Path(sys.argv[1]) / "otree"
told: list[tuple[str, str]] = []
posted: dict[str, list[str]] = {"workers": []}
PLAIN = "<p>Take part, and enter the code.</p><form><input name='completion_code'><button>Submit</button></form>"


class Page:
    """oTree's base class of admin pages, as far as these views use it."""

    request = Facts(
        url=Facts(hostname="lab.example.org"), url_for=lambda name, code: f"https://lab.example.org/{name}/{code}"
    )

    def get_post_data(self) -> Any:
        return Facts(get=lambda _name: None, getlist=lambda name: posted[name])

    def redirect(self, *_: Any, **__: Any) -> None:
        return None


class Column:
    """A column of oTree's database, which can be asked for values."""

    def in_(self, values: Any) -> Any:
        return lambda row: row.mturk_worker_id in values

    def __ne__(self, _other: object) -> Any:
        return lambda _row: True

    __hash__ = None  # type: ignore[assignment]


class Participants(list[Any]):
    def filter(self, condition: Any) -> "Participants":
        return Participants(row for row in self if condition(row))


class Template:
    """oTree's template of the question, filled in."""

    def __init__(self, name: str) -> None:
        self.text = (SOURCE / "templates" / name).read_text()

    def render(self, **values: Any) -> str:
        text = self.text.replace("{% include user_template %}", str(values["user_template"]))
        return text.replace("{{ start_url|safe }}", values["start_url"]).replace(
            "{{ frame_height }}", str(values["frame_height"])
        )


session = Facts(
    code=os.urandom(4).hex(),
    config={
        "participation_fee": Decimal("0.50"),
        "mturk_hit_settings": {
            "keywords": ["game", "study"],
            "title": "A study",
            "description": "Take part in a study",
            "frame_height": 500,
            "template": PLAIN,
            "minutes_allotted_per_assignment": 60,
            "expiration_hours": 24,
            "qualification_requirements": [
                {"QualificationTypeId": "000000000000000000L0", "Comparator": "GreaterThan", "IntegerValues": [50]}
            ],
        },
    },
    mturk_num_workers=lambda: 3,
    mturk_HITId="",
    mturk_use_sandbox=False,
    pp_set=Participants(),
)
package("otree", SOURCE)
package("otree.views", SOURCE / "views")
stand_in(
    "otree.settings",
    AWS_ACCESS_KEY_ID=os.environ["AWS_ACCESS_KEY_ID"],
    AWS_SECRET_ACCESS_KEY=os.environ["AWS_SECRET_ACCESS_KEY"],
)
sys.modules["otree"].settings = sys.modules["otree.settings"]  # type: ignore[attr-defined]
stand_in("starlette")
stand_in("starlette.requests", Request=object)
stand_in("starlette.responses", Response=str)
stand_in(
    "otree.database",
    values_flat=lambda rows, name: [getattr(row, name) for row in rows],
    db=Facts(get_or_404=lambda *_, **__: session),
)
stand_in("otree.models", Session=object, Participant=Facts(mturk_assignment_id=Column(), mturk_worker_id=Column()))
stand_in("otree.templating", ibis_loader=Facts(load=Template))
stand_in("otree.views.cbv", AdminSessionPage=Page, enqueue_admin_message=lambda *message: told.append(message))

from otree.mturk_client import TurkClient  # type: ignore[import-not-found]  # noqa: E402
from otree.views import mturk  # type: ignore[import-not-found]  # noqa: E402


def page(kind: Any) -> Any:
    view = kind()
    view.session = session
    return view


def succeeded() -> None:
    """Its pages catch what goes wrong, and tell it as a message in red."""
    wrong = [message for kind, *message in told if kind in ("danger", "warning")]
    told.clear()
    assert not wrong, wrong


def publish() -> None:
    page(mturk.MTurkCreateHIT).post(Page.request, session.code)
    succeeded()


@step
def publishes_a_session() -> None:
    publish()
    assert session.mturk_HITId and session.mturk_HITGroupId and session.mturk_expiration


paid, refused, unknown = (work(session.mturk_HITId, completion_code="x") for _ in range(3))
for number, (worker_id, assignment_id) in enumerate((paid, refused)):
    session.pp_set.append(
        Facts(
            mturk_worker_id=worker_id,
            mturk_assignment_id=assignment_id,
            payoff=Facts(to_real_world_currency=lambda _session: Decimal("0.25")),
            _numeric_label=lambda number=number: f"P{number}",
        )
    )


@step
def lists_who_submitted_and_rejects_whom_it_does_not_know() -> None:
    listed = page(mturk.MTurkSessionPayments).vars_for_template()
    succeeded()
    assert listed["auto_rejects"] == {unknown[1]}
    assert len(listed["participants_not_reviewed"]) == 2


@step
def pays_with_a_bonus() -> None:
    posted["workers"] = [paid[0]]
    page(mturk.PayMTurk).post(Page.request, session.code)
    succeeded()


@step
def rejects_from_its_page() -> None:
    posted["workers"] = [refused[0]]
    page(mturk.RejectMTurk).post(Page.request, session.code)
    succeeded()


@step
def sees_what_became_of_each() -> None:
    listed = page(mturk.MTurkSessionPayments).vars_for_template()
    succeeded()
    assert [row.mturk_worker_id for row in listed["participants_approved"]] == [paid[0]]
    assert [row.mturk_worker_id for row in listed["participants_rejected"]] == [refused[0]]


@step
def assigns_a_qualification() -> None:
    made = mturk.TurkClient.assign_qualification
    kind = sys.modules["otree.mturk_client"].call_api(
        "CreateQualificationType",
        {"Name": f"Took part {session.code}", "Description": "Took part", "QualificationTypeStatus": "Active"},
        use_sandbox=False,
    )["QualificationType"]["QualificationTypeId"]
    made({"QualificationTypeId": kind, "WorkerId": paid[0]}, use_sandbox=False)


@step
def expires_a_hit() -> None:
    page(mturk.MTurkExpireHIT).post(Page.request, session.code)
    succeeded()
    assert TurkClient is mturk.TurkClient


@step
def publishes_a_template_with_crowd_elements() -> None:
    session.code = os.urandom(4).hex()
    session.config["mturk_hit_settings"]["template"] = (
        "<crowd-form><crowd-input name='code'></crowd-input></crowd-form>"
    )
    publish()


finish()

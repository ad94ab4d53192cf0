"""The participants' site: studies that are open to somebody, taking a place, working, coming back with a code."""

from html import escape
from typing import Any, NamedTuple

from . import money, studies, submissions
from .commands import participant, participant_get
from .errors import ApiError, missing
from .filters import COUNTRIES
from .store import Row, Store
from .transitions import may

STYLE = """
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 40rem; padding: 1rem; }
header { display: flex; flex-wrap: wrap; gap: 1rem; justify-content: space-between; border-bottom: 1px solid; }
article { border: 1px solid; border-radius: .5rem; margin: 1rem 0; padding: 0 1rem 1rem; }
button, .button, input, select { font: inherit; padding: .5rem 1rem; margin: .25rem .5rem .25rem 0; }
.button { display: inline-block; border: 1px solid; border-radius: .25rem; }
label { display: block; }
"""
SYMBOLS = {"GBP": "£", "USD": "$", "EUR": "€"}


class Page(NamedTuple):
    """A page, or where to go, and a cookie to set."""

    title: str = ""
    html: str = ""
    location: str = ""
    cookie: str = ""
    status: int = 200


def answer(store: Store, method: str, path: str, query: dict[str, str], form: dict[str, str], person_id: str) -> Page:
    """What a participant's browser gets. `person_id` is who it is logged in as, or nothing."""
    parts = path.strip("/").split("/")
    if path == "/login":
        return _login(store, form) if method == "POST" else _people(store, query.get("next", "/"))
    person = store.one("SELECT * FROM participant WHERE id = ?", person_id)
    if person is None:
        return Page(location=f"/login?next={path}" + (f"?cc={query['cc']}" if "cc" in query else ""))
    if path == "/":
        return _home(store, person)
    if path == "/submissions/complete":
        return _come_back(store, person, query.get("cc", ""))
    if parts[0] == "studies" and len(parts) == 2:
        study = studies.study_get(store, parts[1])
        if method == "POST":
            reserved = submissions.submission_reserve(store, study, person)
            return Page(location=f"/submissions/{reserved['id']}")
        return _study(store, person, study)
    if parts[0] == "submissions" and len(parts) in (2, 3):
        return _at_work(store, person, submissions.submission_get(store, parts[1]), method, parts[2:], form)
    raise missing(f"The page {path}")


def written(page: Page) -> bytes:
    """A page's document."""
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{escape(page.title)} · double of Prolific</title><style>{STYLE}</style>"
        "<header><a href=/>Studies</a><span>A double of Prolific, for tests</span><a href=/login>Log in</a></header>"
        f"<main><h1>{escape(page.title)}</h1>{page.html}</main>"
    ).encode()


def refusal(error: ApiError) -> Page:
    return Page(error.title, f"<p role=alert>{escape(str(error.detail))}</p>", status=error.status)


def _people(store: Store, after: str) -> Page:
    people = store.all("SELECT * FROM participant ORDER BY name LIMIT 200")
    rows = "".join(
        f"<form method=post><input type=hidden name=participant value={person['id']}>"
        f"<input type=hidden name=next value='{escape(after)}'><button>{escape(person['name'])}</button></form>"
        for person in people
    )
    countries = "".join(f"<option value={key}>{escape(name)}</option>" for key, name in COUNTRIES.items())
    return Page(
        "Who are you?",
        f"{rows}<h2>New participant</h2><form method=post><input type=hidden name=next value='{escape(after)}'>"
        f"<label>Name <input name=name required maxlength=60></label><label>Country <select name=country>{countries}"
        "</select></label><button>Sign up</button></form>",
    )


def _login(store: Store, form: dict[str, str]) -> Page:
    if "participant" in form:
        person = participant_get(store, form["participant"])["id"]
    else:
        country = form.get("country", "1")
        person = participant(store, name=form.get("name", "").strip() or "Nobody", country=country)
    after = form.get("next", "/")
    return Page(location=after if after.startswith("/") else "/", cookie=person)


def _home(store: Store, person: Row) -> Page:
    articles = "".join(
        f"<article><h2><a href=/studies/{study['id']}>{escape(studies.body_of(study)['name'])}</a></h2>"
        f"<p>{_terms(store, study)}</p></article>"
        for study in store.all("SELECT * FROM study ORDER BY published_at")
        if submissions.is_open(store, study, person)
    )
    mine = store.all("SELECT * FROM submission WHERE participant = ? ORDER BY number DESC LIMIT 50", person["id"])
    rows = "".join(
        f"<li><a href=/submissions/{row['id']}>{escape(_name(store, row))}</a>: {row['status']}"
        f"{' · asked to return' if row['return_requested'] and row['status'] != 'RETURNED' else ''}</li>"
        for row in mine
    )
    earned = store.number("SELECT SUM(amount) FROM ledger WHERE participant = ?", person["id"])
    return Page(
        f"Studies for {person['name']}",
        (articles or "<p>No studies are open to you.</p>")
        + f"<h2>Your submissions</h2><ul>{rows}</ul><p>Earned: {_money(store, earned)}</p>",
    )


def _study(store: Store, person: Row, study: Row) -> Page:
    body = studies.body_of(study)
    take = "<p>You cannot take this study.</p>"
    if submissions.is_open(store, study, person):
        take = "<form method=post><button>Take part in this study</button></form>"
    return Page(body["name"], f"<p>{_terms(store, study)}</p><div>{escape(body['description'])}</div>{take}")


def _at_work(store: Store, person: Row, row: Row, method: str, action: list[str], form: dict[str, str]) -> Page:
    if row["participant"] != person["id"]:
        raise missing(f"The submission {row['id']}")
    if method == "POST" and action == ["open"]:
        return Page(location=submissions.submission_open(store, row))
    if method == "POST" and action == ["code"]:
        submissions.submission_complete(store, row, form.get("code", "").strip() or None)
    elif method == "POST" and action == ["return"]:
        submissions.submission_return(store, row)
    elif method == "POST" and action == ["keep"]:
        submissions.submission_refuse_return(store, row)
    if method == "POST":
        return Page(location=f"/submissions/{row['id']}")
    here = f"/submissions/{row['id']}"
    notice = ""
    if row["return_requested"]:
        notice = (
            f"<p role=status>The researcher asks you to return this submission: {escape(row['return_reasons'])}</p>"
        )
    forms = ""
    if may(row["status"], "open"):
        forms = f"<form method=post action={here}/open><button>Open study</button></form>"
    if may(row["status"], "come back"):
        forms += (
            f"<form method=post action={here}/code><label>Completion code <input name=code></label>"
            "<button>Submit code</button></form>"
            f"<form method=post action={here}/code><button>I have no code</button></form>"
        )
    if may(row["status"], "return"):
        forms += f"<form method=post action={here}/return><button>Return study</button></form>"
    if row["return_requested"] and may(row["status"], "refuse to return"):
        forms += f"<form method=post action={here}/keep><button>Do not return it</button></form>"
    reason = f"<p>{escape(row['rejection'])}</p>" if row["rejection"] else ""
    return Page(
        _name(store, row), f"<p>Your submission is <strong>{row['status']}</strong>.</p>{reason}{notice}{forms}"
    )


def _come_back(store: Store, person: Row, code: str) -> Page:
    """The end of the redirect: the code is of the submission that the person is at, the newest first, or was at."""
    query = (
        "SELECT * FROM submission WHERE participant = ? AND status IN ('ACTIVE', 'TIMED-OUT') "
        "ORDER BY status, number DESC"
    )
    at_work = store.all(query, person["id"])
    knowing = [row for row in at_work if _has_code(store, row, code)]
    if not at_work:
        return Page("Nothing to complete", "<p>You are not at work on a study.</p>", status=400)
    done = submissions.submission_complete(store, (knowing or at_work)[0], code)
    return Page(location=f"/submissions/{done['id']}")


def _has_code(store: Store, row: Row, code: str) -> bool:
    body = studies.body_of(studies.study_get(store, row["study"]))
    return any(entry["code"] == code for entry in body["completion_codes"])


def _name(store: Store, row: Row) -> str:
    name: str = studies.body_of(studies.study_get(store, row["study"]))["name"]
    return name


def _terms(store: Store, study: Row) -> str:
    body: dict[str, Any] = studies.body_of(study)
    free = int(body["total_available_places"]) - money.places_taken(store, study["id"])
    return f"{_money(store, int(body['reward']))} · {body['estimated_completion_time']} minutes · {free} places left"


def _money(store: Store, cents: int) -> str:
    currency = money.balance(store)["currency_code"]
    return f"{SYMBOLS.get(currency, currency + ' ')}{cents / 100:.2f}"

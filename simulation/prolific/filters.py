"""Who may take a study: the filters that can be chosen, and whether a participant meets them."""

import json
from typing import Any

from .errors import bad
from .store import Row, Store

COUNTRIES = {
    "0": "United Kingdom",
    "1": "United States",
    "2": "Ireland",
    "3": "Germany",
    "45": "Canada",
    "102": "India",
}
LANGUAGES = {"19": "English", "27": "French", "30": "German", "58": "Portuguese", "73": "Spanish"}
SEXES = {"0": "Male", "1": "Female"}

# The chosen kinds: a participant's attribute, the choices by id.
CHOICES: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "current-country-of-residence": (
        "country", "Current country of residence", "In what country do you currently reside?", COUNTRIES,
    ),
    "fluent-languages": ("languages", "Fluent languages", "Which languages are you fluent in?", LANGUAGES),
    "sex": ("sex", "Sex", "What is your sex, as recorded on legal documents?", SEXES),
}  # fmt: skip
RANGES: dict[str, tuple[str, str, str, int, int]] = {
    "age": ("age", "Age", "What is your date of birth?", 18, 100),
    "approval_rate": ("approval_rate", "Approval rate", "", 0, 100),
    "approval_numbers": ("approvals", "Number of previous submissions", "", 0, 10_000),
}
LISTS = {
    "previous_studies_allowlist": ("StudyID", "Took one of these studies"),
    "previous_studies_blocklist": ("StudyID", "Took none of these studies"),
    "participant_group_allowlist": ("ParticipantGroupID", "In one of these groups"),
    "participant_group_blocklist": ("ParticipantGroupID", "In none of these groups"),
    "custom_allowlist": ("ParticipantID", "One of these participants"),
    "custom_blocklist": ("ParticipantID", "None of these participants"),
}
NEW_PERSON = {"country": "1", "languages": ["19"], "sex": "1", "age": 30, "approval_rate": 100, "approvals": 100}


def offered(store: Store) -> dict[str, Any]:
    """The list of filters, as the API shows it."""
    results: list[dict[str, Any]] = [
        {
            "filter_id": name, "title": title, "description": title, "type": "select", "question": question,
            "choices": choices, "data_type": "ChoiceID",
        }
        for name, (_attribute, title, question, choices) in CHOICES.items()
    ]  # fmt: skip
    results += [
        {
            "filter_id": name, "title": title, "description": title, "type": "range", "question": question,
            "min": lowest, "max": highest, "data_type": "integer",
        }
        for name, (_attribute, title, question, lowest, highest) in RANGES.items()
    ]  # fmt: skip
    results += [
        {
            "filter_id": name, "title": title, "description": title, "type": "select", "question": "",
            "choices": _known(store, kind), "data_type": kind,
        }
        for name, (kind, title) in LISTS.items()
    ]  # fmt: skip
    return {"results": results, "_links": {}, "meta": {"count": len(results)}}


def check(store: Store, chosen: list[dict[str, Any]] | None) -> None:
    """Refuse filters that are not offered, and values that they do not have."""
    for entry in chosen or ():
        name = entry["filter_id"]
        if name in ("and", "or"):
            check(store, entry["selected_filters"])
        elif name in RANGES:
            *_words, lowest, highest = RANGES[name]
            bounds = entry.get("selected_range", {})
            for end in ("lower", "upper"):
                value = bounds.get(end)
                if value is not None and not (isinstance(value, int) and lowest <= value <= highest):
                    raise bad(
                        {"filters": [f"{name}: {end} is {value}, expected an integer from {lowest} to {highest}."]}
                    )
            if not any(bounds.get(end) is not None for end in ("lower", "upper")):
                raise bad({"filters": [f"{name}: selected_range needs lower or upper."]})
        elif name in CHOICES or name in LISTS:
            values = CHOICES[name][3] if name in CHOICES else _known(store, LISTS[name][0])
            for value in entry.get("selected_values", ()):
                if value not in values:
                    raise bad({"filters": [f"{name}: {value} is not one of its choices."]})
        else:
            raise bad({"filters": [f"There is no filter {name}."]})


def meets(store: Store, participant: Row, chosen: list[dict[str, Any]] | None) -> bool:
    """Whether a participant meets every one of a study's filters."""
    return all(_meets(store, participant, entry) for entry in chosen or ())


def _meets(store: Store, participant: Row, entry: dict[str, Any]) -> bool:
    name, person = entry["filter_id"], NEW_PERSON | json.loads(participant["attributes"])
    if name in ("and", "or"):
        parts = [_meets(store, participant, part) for part in entry["selected_filters"]]
        return all(parts) if name == "and" else any(parts)
    if name in RANGES:
        value, bounds = person[RANGES[name][0]], entry["selected_range"]
        lower, upper = bounds.get("lower"), bounds.get("upper")
        return (lower is None or value >= lower) and (upper is None or value <= upper)
    selected = set(entry["selected_values"])
    if name in CHOICES:
        value = person[CHOICES[name][0]]
        return bool(selected & set(value if isinstance(value, list) else [value]))
    is_listed = bool(selected & _lists_with(store, LISTS[name][0], participant["id"]))
    return is_listed != bool(name.endswith("_blocklist"))


def _lists_with(store: Store, kind: str, participant: str) -> set[str]:
    """The studies or groups that somebody is in, or themselves."""
    if kind == "StudyID":
        return {row["study"] for row in store.all("SELECT study FROM submission WHERE participant = ?", participant)}
    if kind == "ParticipantGroupID":
        query = "SELECT participant_group FROM membership WHERE participant = ?"
        return {row["participant_group"] for row in store.all(query, participant)}
    return {participant}


def _known(store: Store, kind: str) -> dict[str, str]:
    table, condition = {
        "StudyID": ("study", "status <> 'UNPUBLISHED'"),
        "ParticipantGroupID": ("participant_group", "is_deleted = 0"),
        "ParticipantID": ("participant", "1"),
    }[kind]
    title = "json_extract(body, '$.name')" if table == "study" else "name"
    return {row["id"]: row["title"] for row in store.all(f"SELECT id, {title} AS title FROM {table} WHERE {condition}")}

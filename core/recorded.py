"""How a model says what the audit calls the changes of its rows: `audit = Audit(...)` in the model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Changes = Mapping[str, Any]  # by field, `[before, after]`; None where only that it changed is known


class Group(models.TextChoices):
    """What entries are about, as the pages' filter has it."""

    CAMPAIGNS = "campaigns", _("campaigns")
    WORDING = "wording", _("wording, consent and test pairs")
    PLATFORMS = "platforms", _("platforms and terms")
    DECISIONS = "decisions", _("decisions on work and workers, and messages")
    MONEY = "money", _("payments")
    DATA = "data", _("collections, runs and qrels")
    FILES = "files", _("exports and downloads")
    PEOPLE = "people", _("people and labs")
    LOGINS = "log-ins", _("log-ins")
    PROTECTION = "protection", _("data protection")
    WEBHOOKS = "webhooks", _("webhooks")
    BOARDS = "leaderboards", _("leaderboards")


@dataclass(frozen=True)
class Audit:
    """Sentences that follow the name of who did it; the trigger that records a table is made by a migration.

    `%(thing)s` is the row's name then, `%(campaign)s` the campaign's, `%(person)s`, `%(lab)s` and `%(worker)s` what
    these are called now, `%(fields)s` what changed and `%(changes)s` how. `states` has what an update of the field
    `state` is called, by the state after it or by those before and after, and `name_update` finds a name for others.
    """

    group: Group
    insert: Promise | None = None
    update: Promise | None = None
    delete: Promise | None = None
    states: Mapping[str | tuple[str, str], Promise] = field(default_factory=dict)
    name_update: Callable[[Changes], Promise | None] = lambda _changes: None
    names_person: bool = False  # the thing is the key of a person

    def sentence(self, action: str, changes: Changes) -> Promise | None:
        """What was done; None where the model has no words for it."""
        if action == "update" and (special := self._state_named(changes) or self.name_update(changes)):
            return special
        return {"insert": self.insert, "update": self.update, "delete": self.delete}.get(action)

    def _state_named(self, changes: Changes) -> Promise | None:
        if not isinstance(changes.get("state"), list):
            return None
        before, after = changes["state"]
        return self.states.get((before, after)) or self.states.get(after)


def value_after(changes: Changes, name: str) -> str:
    """What a field is after a change; empty where that is nothing, or not known."""
    change = changes.get(name)
    return str(change[1]) if isinstance(change, list) and change[1] is not None else ""

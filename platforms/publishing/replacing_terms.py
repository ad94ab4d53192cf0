"""Replacing the terms of a published campaign: the same HITs, moved to a new HIT type; every version is kept."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import NotNow, Refused
from core.models import User
from platforms.models import Publication
from platforms.planning import publication_lock
from platforms.publishing.publications import nobody_refuse, terms_keep
from platforms.registry import adapter_of
from platforms.terms import TERMS, terms_set

FIXED = ("platform", "pay", "base")  # what work that is under way is paid by
REPLACEABLE = tuple(name for name in TERMS if name not in FIXED)


def terms_replaced(publication: Publication, terms: Mapping[str, Any]) -> Publication:
    """The publication with other terms, not stored. Raises NotNow for a draft, Refused for terms that cannot be."""
    if publication.state == Publication.State.DRAFT:
        raise NotNow(_("The campaign is not published yet, so its terms can simply be changed."))
    if any(terms.get(name, getattr(publication, name)) != getattr(publication, name) for name in FIXED):
        raise Refused(
            _("The platform and the pay stay as they were published, because work in progress is paid on those terms.")
        )
    changed = Publication.objects.select_related("campaign__lab").get(pk=publication.pk)
    terms_set(changed, {name: value for name, value in terms.items() if name in REPLACEABLE})
    return changed


def changed_terms(before: Publication, after: Publication) -> list[str]:
    """The names of the terms that differ."""
    return [name for name in REPLACEABLE if getattr(before, name) != getattr(after, name)]


def publication_replace_terms(
    *,
    publication: Publication,
    terms: Mapping[str, Any],
    by: User | None,
    at: datetime,
    although_nobody_qualifies: bool = False,
) -> bool:
    """Put a published campaign under other terms; False where they are its terms already.

    Its HITs stay. Those that are open or need work are moved to a new HIT type by the background jobs, at the set rate,
    and HITs that are not out yet are published under it. Nothing moves while the publication is stopped. Raises NotNow
    if the terms were changed since `publication` was read, Refused as publishing does.
    """
    changed = terms_replaced(publication, terms)
    if not changed_terms(publication, changed):
        return False
    nobody_refuse(changed, although_nobody_qualifies)
    with transaction.atomic():
        locked = publication_lock(publication)
        if changed_terms(locked, publication):
            raise NotNow(_("The terms have changed in the meantime. Check them, then replace them."))
        # Terms that are not sent to the platform leave the HIT type as it is.
        same = adapter_of(locked).is_told_the_same(locked, changed)
        newest = locked.terms.order_by("-version").first()
        for name in REPLACEABLE:
            setattr(locked, name, getattr(changed, name))
        locked.save(update_fields=REPLACEABLE)
        hit_type = newest.hit_type_id if newest is not None and same else ""
        terms_keep(publication=locked, by=by, at=at, hit_type_id=hit_type)
    publication.refresh_from_db()
    return True

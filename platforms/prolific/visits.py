"""Who may come: what Prolific signed for a visit, and who took part in earlier campaigns of the lab.

The signature is a JSON Web Token in the address, made when a participant opens the study. It proves who comes, to which
study and submission, and that they opened it within the last two minutes. Only studies of some workspaces have it
(`offers.SECURE`).
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
import jwt
from django.conf import settings
from django.core.cache import cache
from django.utils.translation import gettext as _

from core.errors import BadRequest, NotNow
from platforms.models import Publication
from tasks.models import Assignment, Platform

ISSUER = "https://www.prolific.com"
ALGORITHM = "RS256"
PATH = "/.well-known/study/jwks.json"
KEPT = 6 * 3600  # seconds that Prolific's keys are kept; it asks for a day at most
AGAIN = 20  # seconds in which a token that names an unknown key makes us ask once
READ_SECONDS = 4
LEEWAY = 30  # seconds that two clocks may differ
KEPT_OUT, LET_IN = "previous_studies_blocklist", "previous_studies_allowlist"
NAMES = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")


def token_check(
    token: str, *, address: str, workspace_id: str, parameters: Mapping[str, str], may_be_old: bool
) -> None:
    """Raise BadRequest unless Prolific signed that this person comes to this address for this submission of this study.

    `address` is ours, `parameters` the ids that came with the visit. `may_be_old`: whether a token counts whose two
    minutes are over. Raises NotNow where Prolific's keys cannot be read.
    """
    try:
        key = _key_named(str(jwt.get_unverified_header(token).get("kid", "")))
        if key is None:
            raise jwt.InvalidTokenError("unknown key")
        claims = jwt.decode(
            token,
            key,
            algorithms=[ALGORITHM],
            issuer=ISSUER,
            leeway=LEEWAY,
            options={
                "require": ["iss", "aud", "sub", "exp"],
                "verify_aud": False,  # the whole address is in it, with what the ids were filled in with: see below
                "verify_iat": False,
                "verify_exp": not may_be_old,
            },
        )
    except jwt.ExpiredSignatureError:
        raise BadRequest(
            _("This page was opened too long ago. Open the study from Prolific's page again; nothing is lost.")
        ) from None
    except jwt.InvalidTokenError:
        raise _not_ours() from None
    claim = claims.get("prolific")
    signed = {name: parameters.get(name, "") for name in NAMES} | {"workspace_id": workspace_id}
    if not isinstance(claim, dict) or {name: claim.get(name) for name in signed} != signed:
        raise _not_ours()
    if claims["sub"] != parameters.get("SESSION_ID") or not _is_at(claims["aud"], address):
        raise _not_ours()


def _not_ours() -> BadRequest:
    return BadRequest(
        _("Prolific did not sign this address for this visit. Open the study from Prolific's page again.")
    )


def _is_at(audience: Any, address: str) -> bool:
    """Whether a token is for our address, whatever its parameters: these are among the claims."""
    audiences = audience if isinstance(audience, list) else [audience]
    return any(isinstance(text, str) and _place(text) == _place(address) for text in audiences)


def _place(address: str) -> tuple[str, str, str]:
    try:
        parts = urlsplit(address)
    except ValueError:
        return ("", "", "")
    return (parts.scheme.lower(), parts.netloc.lower(), parts.path or "/")


def _key_named(kid: str) -> jwt.PyJWK | None:
    """Prolific's key of that name. An unknown one makes us ask for the keys again, but not for each such token."""
    cached: list[dict[str, Any]] | None = cache.get(_cached())
    key = _among(cached or [], kid)
    if key is None and (cached is None or cache.add(f"{_cached()} asked", 1, AGAIN)):
        key = _among(_fetch(), kid)
    return key


def _among(keys: list[dict[str, Any]], kid: str) -> jwt.PyJWK | None:
    for key in keys:
        if kid and key.get("kid") == kid and key.get("kty") == "RSA":
            try:
                return jwt.PyJWK(key, algorithm=ALGORITHM)
            except jwt.PyJWTError:
                return None
    return None


def _fetch() -> list[dict[str, Any]]:
    try:
        response = httpx.get(httpx.URL(settings.PROLIFIC_API_URL).join(PATH), timeout=READ_SECONDS)
        keys = response.raise_for_status().json()["keys"]
        keys = [key for key in keys if isinstance(key, dict)]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
        raise NotNow(_("Prolific does not answer at the moment. Please reload this page in a minute.")) from error
    cache.set(_cached(), keys, KEPT)
    return keys


def _cached() -> str:
    return f"prolific keys {settings.PROLIFIC_API_URL}"


# --- earlier campaigns: kept out by Prolific's filter, and at our own door


def earlier_studies(lab_id: int | None) -> dict[str, str]:
    """The studies of a lab's campaigns, by id, with the names of the campaigns: the newest first."""
    published = Publication.objects.filter(campaign__lab=lab_id, platform=Platform.PROLIFIC).exclude(hit_type_id="")
    return dict(published.order_by("-id").values_list("hit_type_id", "campaign__name"))


def check_earlier(publication: Publication, worker_id: str) -> None:
    """Raise NotNow if a participant has begun in a campaign of the lab whose people the terms keep out. Prolific does
    not show them the study; an address can be passed on.
    """
    studies = [
        study
        for row in publication.requirements
        if row.get("filter_id") == KEPT_OUT
        for study in row.get("selected_values") or []
    ]
    if not studies:
        return
    earlier = Publication.objects.filter(
        campaign__lab=publication.campaign.lab_id, platform=publication.platform, hit_type_id__in=studies
    )
    if Assignment.objects.filter(campaign__publication__in=earlier, worker__external_id=worker_id).exists():
        raise NotNow(
            _(
                "You took part in an earlier study, and this one is for others. Please return it; it does not count "
                "against you."
            )
        )

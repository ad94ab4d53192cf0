"""Who may do what: one table of what each role may do, and one of what each address needs.

`RolesAreKept` (config/middleware.py) looks up every address. An address that names a thing is checked by the lookup
that finds the thing: `campaign_of`, `collection_of` and the others of pools/views.py for pages, and what these call in
pools/selectors.py (`campaign_for` …) for whatever knows the right that it needs. Somebody of the lab without the right
is told whom to ask; for everybody else the thing is not there.
"""

from enum import StrEnum
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import ResolverMatch
from django.utils.functional import Promise
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.errors import NotYours, Refused
from core.models import Lab, Membership, User

Role = Membership.Role


class Right(StrEnum):
    """What somebody may do: the first two anywhere, the last in the whole site, all others in a lab."""

    PUBLIC = "public"
    SIGNED_IN = "signed in"
    SEE = "see"
    EXPORT = "export"
    MAINTAIN = "maintain"
    DESIGN = "design"
    SPEND = "spend"
    DECIDE = "decide"
    MANAGE = "manage"
    SITE = "site"


R = Right
# What each role may do in its lab. Admins of the site may do everything in every lab. docs/roles.md has the same table.
ROLES: dict[str, frozenset[Right]] = {
    Role.VIEWER: frozenset({R.SEE}),
    Role.ORGANIZER: frozenset({R.SEE, R.EXPORT, R.MAINTAIN}),
    Role.RESEARCHER: frozenset({R.SEE, R.EXPORT, R.MAINTAIN, R.DESIGN, R.SPEND, R.DECIDE}),
    Role.ADMIN: frozenset({R.SEE, R.EXPORT, R.MAINTAIN, R.DESIGN, R.SPEND, R.DECIDE, R.MANAGE}),
}
# What a right lets somebody do, as docs/roles.md and refusals say it: “you cannot …”.
WORDS: dict[Right, Promise] = {
    R.SEE: gettext_lazy("see what the lab has"),
    R.EXPORT: gettext_lazy("download judgments, preference qrels and ledgers"),
    R.MAINTAIN: gettext_lazy(
        "run leaderboards, add and release runs, outside scores and versions of the preference qrels"
    ),
    R.DESIGN: gettext_lazy("create and change collections, campaigns, test pairs, wording and panels"),
    R.SPEND: gettext_lazy("set terms, publish and pay"),
    R.DECIDE: gettext_lazy("decide about work and workers"),
    R.MANAGE: gettext_lazy(
        "manage the lab's name and people, its pay floor, its accounts at platforms, its webhooks and its data "
        "protection"
    ),
    R.SITE: gettext_lazy("administer this site"),
}

# What each address needs: one right, or one to look (GET) and one to change something (every other method).
ADDRESSES: dict[str, Right | tuple[Right, Right]] = {
    "home": R.PUBLIC,
    "healthz": R.PUBLIC,
    "healthz_all": R.PUBLIC,
    # logging in and one's own account (allauth's pages ask for the password, or who is logged in, themselves)
    "login": R.PUBLIC,
    "logout": R.PUBLIC,
    "account_login": R.PUBLIC,
    "account_logout": R.PUBLIC,
    "account_signup": R.PUBLIC,  # it says that there is none
    "account_inactive": R.PUBLIC,
    "account_reset_password": R.PUBLIC,
    "account_reset_password_done": R.PUBLIC,
    "account_reset_password_from_key": R.PUBLIC,
    "account_reset_password_from_key_done": R.PUBLIC,
    "account_confirm_email": R.PUBLIC,
    "account_email_verification_sent": R.PUBLIC,
    "mfa_authenticate": R.PUBLIC,  # between the password and the second factor
    "mfa_login_webauthn": R.PUBLIC,
    "socialaccount_login_cancelled": R.PUBLIC,
    "socialaccount_login_error": R.PUBLIC,
    "socialaccount_signup": R.PUBLIC,
    "openid_connect_login": R.PUBLIC,
    "openid_connect_callback": R.PUBLIC,
    "core:invited": R.PUBLIC,  # signed
    "account_reauthenticate": R.SIGNED_IN,
    "account_email": R.SIGNED_IN,
    "account_change_password": R.SIGNED_IN,
    "account_set_password": R.SIGNED_IN,
    "mfa_index": R.SIGNED_IN,
    "mfa_reauthenticate": R.SIGNED_IN,
    "mfa_activate_totp": R.SIGNED_IN,
    "mfa_deactivate_totp": R.SIGNED_IN,
    "mfa_view_recovery_codes": R.SIGNED_IN,
    "mfa_generate_recovery_codes": R.SIGNED_IN,
    "mfa_download_recovery_codes": R.SIGNED_IN,
    "mfa_list_webauthn": R.SIGNED_IN,
    "mfa_add_webauthn": R.SIGNED_IN,
    "mfa_reauthenticate_webauthn": R.SIGNED_IN,
    "mfa_remove_webauthn": R.SIGNED_IN,
    "mfa_edit_webauthn": R.SIGNED_IN,
    "usersessions_list": R.SIGNED_IN,
    "socialaccount_connections": R.SIGNED_IN,
    "core:account": R.SIGNED_IN,
    "core:session_end": R.SIGNED_IN,
    "core:test_mail": R.SITE,
    # labs and their people
    "core:labs": R.SIGNED_IN,
    "core:lab_new": R.SITE,
    "core:lab_rename": R.MANAGE,
    "core:people": (R.SEE, R.MANAGE),
    "core:revoke": R.MANAGE,
    "core:role": R.MANAGE,
    "core:remove": R.MANAGE,
    "core:disable": R.SITE,
    "core:reset_link": R.SITE,
    # workers: what they may do is in the signed token of the address
    "judging:preview": R.PUBLIC,
    "judging:join": R.PUBLIC,
    "judging:declined": R.PUBLIC,
    "judging:declined_in_frame": R.PUBLIC,
    "judging:arrive": R.PUBLIC,
    "judging:visit": R.PUBLIC,
    "judging:visit_declined": R.PUBLIC,
    "judging:home": R.PUBLIC,
    "judging:consent": R.PUBLIC,
    "judging:take": R.PUBLIC,
    "judging:another": R.PUBLIC,
    "judging:pay_detail": R.PUBLIC,
    "judging:ask_about_pay": R.PUBLIC,
    "judging:instructions": R.PUBLIC,
    "judging:item": R.PUBLIC,
    "judging:language": R.PUBLIC,
    "judging:practice": R.PUBLIC,
    "judging:practice_pair": R.PUBLIC,
    "judging:report": R.PUBLIC,
    "judging:note": R.PUBLIC,
    "judging:save": R.PUBLIC,
    "judging:finish": R.PUBLIC,
    "judging:leave": R.PUBLIC,
    "judging:done": R.PUBLIC,
    "platforms:account_notifications": R.PUBLIC,  # signed by the platform
    "platforms:notifications": R.PUBLIC,  # signed by the platform
    # lists over somebody's labs
    "pools:campaigns": R.SIGNED_IN,
    "pools:collections": R.SIGNED_IN,
    "pools:runs": R.SIGNED_IN,
    "judgments:workers": R.SIGNED_IN,
    "platforms:costs": R.SIGNED_IN,
    "platforms:costs_csv": R.SIGNED_IN,
    "api:tokens": R.SIGNED_IN,
    "api:token_revoke": R.SIGNED_IN,
    "api:reference": R.SIGNED_IN,
    # a lab's webhooks
    "api:webhooks": R.MANAGE,
    "api:webhook": R.MANAGE,
    "api:webhook_act": R.MANAGE,
    "api:delivery_repeat": R.MANAGE,
    "api:description": R.PUBLIC,
    # collections, runs and the jobs that were asked for
    "pools:collection": R.SEE,
    "pools:collection_new": R.DESIGN,
    "pools:collection_add": R.DESIGN,
    "pools:dataset_new": R.DESIGN,
    "pools:dataset_texts": R.DESIGN,
    "pools:missing_texts": R.SEE,
    "pools:missing_ids": R.SEE,
    "pools:outside_scores": (R.SEE, R.MAINTAIN),
    "pools:outside_scores_delete": R.MAINTAIN,
    "pools:preferences_import": R.DESIGN,
    "pools:preferences_delete": R.DESIGN,
    "pools:job": R.SEE,
    "pools:job_cancel": R.MAINTAIN,
    "pools:files": R.DESIGN,
    "pools:files_read": R.DESIGN,
    "pools:files_discard": R.DESIGN,
    "pools:run": R.SEE,
    "pools:run_upload": R.MAINTAIN,
    "pools:run_release": R.MAINTAIN,
    "pools:run_models": R.MAINTAIN,
    "pools:run_delete": R.MAINTAIN,
    # designing a campaign
    "pools:campaign_new": R.DESIGN,
    "pools:campaign_rename": R.DESIGN,
    "pools:campaign_archive": R.DESIGN,
    "pools:campaign_unarchive": R.DESIGN,
    "pools:campaign_delete": R.DESIGN,
    "pools:campaign_edit": R.DESIGN,
    "platforms:templates": R.SIGNED_IN,
    "platforms:template_save": R.DESIGN,
    "platforms:template": (R.SEE, R.DESIGN),
    "platforms:template_terms": R.DESIGN,
    "platforms:template_default": R.DESIGN,
    "platforms:template_delete": R.DESIGN,
    "platforms:pay_floor": R.MANAGE,
    "platforms:lab_account": R.MANAGE,
    "platforms:consequences": R.DESIGN,
    "platforms:draft_reach": R.SEE,
    "tasks:trial": R.SEE,
    "tasks:trial_of_wording": R.DESIGN,
    "tasks:trials_revoke": R.DESIGN,
    "judgments:ethics": R.SEE,
    "judgments:ethics_file": R.SEE,
    "judgments:pilot": R.SEE,
    "judgments:rest_launch": R.SPEND,
    "judgments:round_ask": R.SPEND,
    "judgments:rest_repay": R.DESIGN,
    "tasks:tests": (R.SEE, R.DESIGN),
    "tasks:tests_suggest": R.DESIGN,
    "tasks:tests_copy": R.DESIGN,
    "tasks:tests_decide": R.DESIGN,
    "tasks:test_decide": R.DESIGN,
    "tasks:practice": (R.SEE, R.DESIGN),
    "tasks:launch": R.DESIGN,
    "tasks:wording": (R.SEE, R.DESIGN),
    "tasks:panel": R.DESIGN,  # whoever has a personal link can work in that person's name
    "tasks:panel_links": R.DESIGN,
    "tasks:outside_panel": R.DESIGN,
    "tasks:outside_panel_delete": R.DESIGN,
    "platforms:move": R.DESIGN,
    # a campaign at a platform
    "platforms:publication": R.SEE,
    "platforms:terms": (R.SEE, R.SPEND),
    "platforms:filters": (R.SEE, R.SPEND),
    "platforms:ask_for_money": R.SPEND,
    "platforms:pay": (R.SEE, R.SPEND),
    "platforms:publish": (R.SEE, R.SPEND),
    "platforms:test_run": (R.SEE, R.SPEND),
    "platforms:pause": R.SPEND,
    "platforms:resume": R.SPEND,
    "platforms:expire": R.SPEND,
    "platforms:stop": R.SPEND,
    "platforms:extend": R.SPEND,
    "platforms:listen": R.SPEND,
    "platforms:retry": R.SPEND,
    "platforms:set_aside": R.SPEND,
    "platforms:submissions": R.SEE,
    "platforms:submission": (R.SEE, R.DECIDE),
    "platforms:compensations": R.SEE,
    "platforms:compensate": R.SPEND,
    "platforms:decline": R.DECIDE,
    "platforms:adjustment": (R.SEE, R.SPEND),
    "platforms:messages": R.SEE,
    "platforms:conversation": (R.SEE, R.DECIDE),
    "platforms:message_set_aside": R.DECIDE,
    "platforms:ledger": R.SEE,
    "platforms:ledger_csv": R.EXPORT,
    "platforms:compare": R.SPEND,
    # judgments
    "judgments:judgments_import": R.DESIGN,
    "judgments:machines": R.SEE,
    "judgments:machine_import": R.DESIGN,
    "judgments:machine_ask": R.DESIGN,
    "judgments:machine_stop": R.DESIGN,
    "judgments:machine_delete": R.DESIGN,
    "judgments:campaign": R.SEE,
    "judgments:queries": R.SEE,
    "judgments:work": R.SEE,
    "judgments:assignment": (R.SEE, R.DECIDE),
    "judgments:worker": (R.SEE, R.DECIDE),
    "judgments:reports": (R.SEE, R.DECIDE),
    "judgments:disagreements": R.SEE,
    "judgments:disagreement": (R.SEE, R.DECIDE),
    "judgments:review": R.DECIDE,  # paying needs the right to spend besides
    "judgments:assignments_csv": R.EXPORT,
    "judgments:workers_csv": R.EXPORT,
    "judgments:bulk": R.SEE,
    "judgments:bulk_undo": R.DECIDE,
    "judgments:alarm_choice": R.SIGNED_IN,
    "judgments:make_exports": R.EXPORT,
    "judgments:export": R.EXPORT,
    # results
    "results:query": R.SEE,
    "results:results": R.SEE,
    "results:compute": R.DESIGN,
    "results:later_runs": R.DESIGN,
    "results:earlier": R.SEE,
    "results:earlier_json": R.SEE,
    "results:earlier_report": R.SEE,
    "results:settings": (R.SEE, R.DESIGN),
    "results:plan": R.SEE,
    "results:report": R.SEE,
    "results:confidence_sets": R.SEE,
    "results:ask": (R.SEE, R.SPEND),
    "results:offer": R.SEE,
    "results:table": R.SEE,
    "results:file": R.SEE,
    "results:figure": R.SEE,
    "results:machines": R.SEE,
    "results:machines_file": R.SEE,
    "results:machine": R.SEE,
    "results:machine_table_file": R.SEE,
    "results:machine_file": R.EXPORT,
    "results:version": R.SEE,
    "results:version_new": R.MAINTAIN,
    "results:version_asked": R.SEE,
    "results:version_file": R.EXPORT,
    "results:version_scores": R.SEE,
    "results:version_scores_file": R.SEE,
    "leaderboards:import": R.MAINTAIN,
    # the upkeep of leaderboards
    "upkeep:upkeep": (R.SEE, R.SPEND),
    "upkeep:decide": R.SPEND,
    # public boards: one that is not public is there for the people of its lab alone
    "boards:boards": R.PUBLIC,
    "boards:board": R.PUBLIC,
    "boards:entry": R.PUBLIC,
    "boards:time": R.PUBLIC,
    "boards:costs": R.PUBLIC,
    "boards:order": R.PUBLIC,
    "boards:policy": R.PUBLIC,
    "boards:compare": R.PUBLIC,
    "boards:terms": R.PUBLIC,
    "boards:wheel": R.PUBLIC,
    "boards:files": R.PUBLIC,
    "boards:file": R.PUBLIC,
    "boards:everything": R.PUBLIC,
    "boards:atom": R.PUBLIC,
    "boards:embedding": R.PUBLIC,
    "boards:embed": R.PUBLIC,
    "boards:versions": R.PUBLIC,
    "boards:version": R.PUBLIC,
    "boards:version_qrels": R.PUBLIC,
    # leaderboards: participants see what their teams sent, and nothing else (leaderboards/selectors.py)
    "leaderboards:ask": R.PUBLIC,
    "leaderboards:terms": R.PUBLIC,  # of public boards
    "leaderboards:sample": R.PUBLIC,  # of public boards
    "leaderboards:invited": R.PUBLIC,  # signed
    "leaderboards:boards": R.SIGNED_IN,
    "leaderboards:take_part": R.SIGNED_IN,
    "leaderboards:submit": R.SIGNED_IN,
    "leaderboards:dev": R.SIGNED_IN,
    "leaderboards:team_new": R.SIGNED_IN,
    "leaderboards:team": R.SIGNED_IN,
    "leaderboards:team_leave": R.SIGNED_IN,
    "leaderboards:submission": R.SIGNED_IN,
    "leaderboards:submission_act": R.SIGNED_IN,
    "leaderboards:board_new": R.MAINTAIN,
    "leaderboards:organize": R.SEE,
    "leaderboards:order": R.MAINTAIN,
    "leaderboards:board_edit": R.MAINTAIN,
    "leaderboards:policy_new": R.MAINTAIN,
    "leaderboards:season_new": R.MAINTAIN,
    "leaderboards:board_act": R.MAINTAIN,
    "leaderboards:export": R.MAINTAIN,
    "leaderboards:decide": R.MAINTAIN,
    # the audit and data protection
    "audit:entries": R.MANAGE,
    "audit:csv": R.MANAGE,
    "audit:json": R.MANAGE,
    "judgments:protection": R.MANAGE,
    "judgments:protection_worker": R.MANAGE,
    "judgments:protection_data": R.MANAGE,
    "judgments:protection_lab": R.MANAGE,
    "judgments:protection_campaign": R.EXPORT,
    "judgments:protection_erase": R.MANAGE,
    "judgments:campaign_erase": R.MANAGE,
    "judgments:account_close": R.SIGNED_IN,
    "judgments:member_close": R.SITE,
    "judgments:bundle_make": R.EXPORT,
    "judgments:bundle": R.EXPORT,
}
_LOOKING = ("GET", "HEAD", "OPTIONS")
_ANYWHERE = (R.PUBLIC, R.SIGNED_IN)


class NotAllowed(Refused):
    """Somebody's role does not have the right; the thing is their lab's."""

    status = 403
    title = "Your role does not allow this"


def right_needed(match: ResolverMatch, method: str | None) -> Right:
    """What an address needs. Raises KeyError for an address that the table does not name."""
    if match.namespaces[:1] == ["admin"] or match.namespaces == ["api", "v1"]:
        return R.PUBLIC  # Django's admin site asks for itself, and so does each operation of the API (api/frame.py)
    needed = ADDRESSES[match.view_name]
    if isinstance(needed, tuple):
        return needed[0] if method in _LOOKING else needed[1]
    return needed


def right_of(request: HttpRequest) -> Right:
    """What the address of a request needs."""
    assert request.resolver_match is not None
    return right_needed(request.resolver_match, request.method)


def roles_of(user: User) -> dict[int, str]:
    """Somebody's role in each of their labs, by the lab's key; read once for an object."""
    roles: dict[int, str] | None = getattr(user, "_roles", None)
    if roles is None:
        roles = dict(Membership.objects.filter(user=user).values_list("lab_id", "role"))
        user._roles = roles  # type: ignore[attr-defined]
    return roles


def may(user: User, lab: Lab | None, right: Right) -> bool:
    """Whether somebody has a right in a lab; without a lab, in any."""
    if right == R.SITE:
        return user.is_staff and user.is_superuser
    if right in _ANYWHERE or user.is_staff:
        return True
    roles = roles_of(user)
    held = roles.values() if lab is None else [roles[lab.pk]] if lab.pk in roles else []
    return any(right in ROLES[role] for role in held)


def may_change(user: User, lab: Lab | None, address: str) -> bool:
    """Whether somebody may use the forms and buttons of an address in a lab; without a lab, in any."""
    needed = ADDRESSES[address]
    return may(user, lab, needed[1] if isinstance(needed, tuple) else needed)


def labs_of(user: User, right: Right = R.SEE) -> QuerySet[Lab]:
    """The labs in which somebody has a right; an admin of the site has it in all."""
    if user.is_staff:
        return Lab.objects.all()
    holding = [role for role, rights in ROLES.items() if right in rights]
    return Lab.objects.filter(pk__in=Membership.objects.filter(user=user, role__in=holding).values("lab"))


def require(user: User, lab: Lab | None, right: Right) -> None:
    """Raise NotAllowed, which says whom to ask, unless somebody has a right in a lab; without a lab, in any.

    Raises NotYours for a lab that they are no member of.
    """
    if may(user, lab, right):
        return
    what = WORDS[right]
    if right == R.SITE:
        raise NotAllowed(_("Only an admin of this site can do this. Nothing was changed."))
    if lab is None:
        said = _("There is no lab in which you can %(what)s. Nothing was changed. Ask an admin of your lab for it.")
        raise NotAllowed(said % {"what": what})
    role = roles_of(user).get(lab.pk)
    if role is None:
        raise NotYours(_("There is no such thing, or it belongs to another lab."))
    said = _("Your role in “%(lab)s” is %(role)s, so you cannot %(what)s. Nothing was changed. Ask %(who)s.")
    raise NotAllowed(said % {"role": Role(role).label, "lab": lab, "what": what, "who": _whom_to_ask(lab)})


def _whom_to_ask(lab: Lab) -> str:
    admins = lab.memberships.filter(role=Role.ADMIN, user__is_active=True).select_related("user")
    names = [row.user.get_full_name() or row.user.get_username() for row in admins.order_by("pk")[:3]]
    return get_text_list(names, _("or")) if names else _("the person who runs this site")


def check_address(request: Any, names_nothing: bool) -> None:
    """Raise NotAllowed where an address that names no thing needs a right that somebody has in no lab."""
    right = right_of(request)
    if names_nothing:
        require(request.user, None, right)

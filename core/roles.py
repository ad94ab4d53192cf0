"""Who may do what: one table of what each role may do. What a view needs, it says itself, by `@needs`.

`RolesAreKept` (config/middleware.py) asks this of every view. An address that names a thing is checked by the lookup
that finds the thing: `campaign_of` (pools/http.py), `collection_of` (runs/http.py) and the like for pages, and what
these call in selectors (`campaign_for` …) for whatever knows the right that it needs. Somebody of the lab without the
right is told whom to ask; for everybody else the thing is not there.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple, TypeVar

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import ResolverMatch, URLPattern, URLResolver, get_resolver
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

# What the addresses of other people's views need, which cannot say it themselves. allauth's pages ask for the password,
# or who is logged in, themselves.
OTHERS: dict[str, Right] = {
    "logout": R.PUBLIC,
    "account_logout": R.PUBLIC,
    "account_signup": R.PUBLIC,  # it says that there is none
    "account_inactive": R.PUBLIC,
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
    "account_reauthenticate": R.SIGNED_IN,
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
}
_LOOKING = ("GET", "HEAD", "OPTIONS")
_ANYWHERE = (R.PUBLIC, R.SIGNED_IN)
_ASK_THEMSELVES = (("admin",), ("api", "v1"))  # Django's admin site, and each operation of the API (api/frame.py)


class NotAllowed(Refused):
    """Somebody's role does not have the right; the thing is their lab's."""

    status = 403
    title = "Your role does not allow this"


View = TypeVar("View", bound=Callable[..., Any])


class Needs(NamedTuple):
    """What a view needs to look (GET), and to change something (every other method)."""

    looking: Right
    changing: Right


def needs(right: Right, *, changing: Right | None = None) -> Callable[[View], View]:
    """Say what a view needs: one right, or another to change something. Whoever is not logged in is asked to."""

    def mark(view: View) -> View:
        view.needs = Needs(right, changing or right)  # type: ignore[attr-defined]
        return view

    return mark


def _needs_of(view: Callable[..., Any], address: str) -> Needs:
    """Raises KeyError for a view that does not say what it needs."""
    needed: Needs | None = getattr(view, "needs", None)
    return needed or Needs(OTHERS[address], OTHERS[address])


@cache
def needs_by_address() -> dict[str, Needs]:
    """What each named address needs, but for those of the API and of the admin site."""
    return {address: _needs_of(view, address) for address, view in _named_views(get_resolver().url_patterns, ())}


def _named_views(
    patterns: Iterable[URLPattern | URLResolver], namespaces: tuple[str, ...]
) -> Iterator[tuple[str, Callable[..., Any]]]:
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            if pattern.name:
                yield ":".join((*namespaces, pattern.name)), pattern.callback
            continue
        inner = (*namespaces, pattern.namespace) if pattern.namespace else namespaces
        if inner not in _ASK_THEMSELVES:
            yield from _named_views(pattern.url_patterns, inner)


def right_needed(match: ResolverMatch, method: str | None) -> Right:
    """What an address needs. Raises KeyError for a view that does not say it."""
    if tuple(match.namespaces[:1]) in _ASK_THEMSELVES or tuple(match.namespaces) in _ASK_THEMSELVES:
        return R.PUBLIC
    needed = _needs_of(match.func, match.view_name)
    return needed.looking if method in _LOOKING else needed.changing


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
    user_roles = roles.values() if lab is None else [roles[lab.pk]] if lab.pk in roles else []
    return any(right in ROLES[role] for role in user_roles)


def may_change(user: User, lab: Lab | None, address: str) -> bool:
    """Whether somebody may use the forms and buttons of an address in a lab; without a lab, in any."""
    return may(user, lab, needs_by_address()[address].changing)


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
        text = _("There is no lab in which you can %(what)s. Nothing was changed. Ask an admin of your lab for it.")
        raise NotAllowed(text % {"what": what})
    role = roles_of(user).get(lab.pk)
    if role is None:
        raise NotYours(_("There is no such thing, or it belongs to another lab."))
    text = _("Your role in “%(lab)s” is %(role)s, so you cannot %(what)s. Nothing was changed. Ask %(who)s.")
    raise NotAllowed(text % {"role": Role(role).label, "lab": lab, "what": what, "who": _whom_to_ask(lab)})


def _whom_to_ask(lab: Lab) -> str:
    admins = lab.memberships.filter(role=Role.ADMIN, user__is_active=True).select_related("user")
    names = [row.user.get_full_name() or row.user.get_username() for row in admins.order_by("pk")[:3]]
    return get_text_list(names, _("or")) if names else _("the person who runs this site")


def check_address(request: Any, names_nothing: bool) -> None:
    """Raise NotAllowed where an address that names no thing needs a right that somebody has in no lab."""
    right = right_of(request)
    if names_nothing:
        require(request.user, None, right)

"""Labs: their names, people and invitations, audit, accounts at platforms, templates, and pay floor."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import CharFilter, IsoDateTimeFilter
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request

from api import lab_shapes, platform_shapes, shapes
from api.filters import KeyFilter
from api.frame import Resource, get, operation, post, put, refusals_of
from api.resources.campaigns import as_percent, by_field
from api.resources.publications import terms_content, terms_form
from campaigns import template_terms as terms_templating
from campaigns import templating
from campaigns.forms import TemplateForm
from core import people
from core.audit import logins
from core.audit import selectors as audit
from core.audit.lists import AuditFilter as WordsFilter
from core.errors import NotYours
from core.labs import lab_create, lab_rename, pay_floor_set
from core.models import Membership
from core.roles import Right, labs_of, require, roles_of
from platforms.models import LabAccount
from platforms.money import lab_accounts
from platforms.registry import accounts_at
from pools.models import Campaign, CampaignTemplate

TEMPLATE = ("id", "lab", "name", "is_default", "values", "consent", "changed_at")


def template_content(template: CampaignTemplate) -> dict[str, Any]:
    """A template as it is stored, with its terms as those of campaigns are shown."""
    template.refresh_from_db()  # its settings as JSON keeps them
    terms = None if template.terms is None else terms_content(terms_templating.publication_of(template))
    return {name: getattr(template, name) for name in TEMPLATE} | {"terms": terms}


def settings_changed(template: CampaignTemplate, sent: Mapping[str, Any]) -> dict[str, Any]:
    """What campaigns.templating.template_change takes for other settings and texts, as the page checks them. Raises
    ValidationError.
    """
    campaign = Campaign(lab=template.lab, **templating.template_settings(template))
    data = {name: getattr(campaign, name) for name in templating.KEPT} | dict(sent.get("settings", {}))
    as_percent(data)
    data |= {name: sent.get(name, getattr(template, name)) for name in ("name", "consent")}
    form = TemplateForm(data, template=template)
    if not form.is_valid():
        errors = by_field(form.errors)
        of_template: dict[str, Any] = {name: errors.pop(name) for name in ("name", "consent") if name in errors}
        raise ValidationError(of_template | ({"settings": errors} if errors else {}))
    return form.changes()


def terms_changed(template: CampaignTemplate, sent: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What campaigns.template_terms.template_terms_set takes for other terms, likewise."""
    if sent is None:
        return None
    try:
        return terms_form(terms_templating.publication_of(template), sent).terms()
    except ValidationError as error:
        raise ValidationError({"terms": error.detail}) from error


class AuditFilter(WordsFilter):
    """As on the page: by words, who, kind of thing and campaign; and by table, and time to the second."""

    campaign = KeyFilter(field_name="campaign_id")
    subject = CharFilter()
    since = IsoDateTimeFilter(field_name="at", lookup_expr="gte")
    until = IsoDateTimeFilter(field_name="at", lookup_expr="lt")


class Labs(Resource):
    """Your labs."""

    tags = ["Account"]

    @operation(shapes.LabShape(many=True), name="labs")
    def list(self, request: Request) -> Any:
        """Your labs, and your role in each."""
        return self.page_of(labs_of(self.user), roles=roles_of(self.user))

    @operation(lab_shapes.MadeLab, Right.SITE, name="lab_create", takes=lab_shapes.NewLab)
    def create(self, request: Request) -> Any:
        """Make a lab. You are its first admin, unless you have somebody invited to be that: nothing is mailed, so hand
        over the link of the answer."""
        require(self.user, None, Right.SITE)
        sent = self.sent
        invited = sent["email"] if sent["invite_admin"] else None
        with refusals_of("name"):
            creation = lab_create(name=sent["name"], invited=invited, **self.signed)
        content = {"id": creation.lab.pk, "name": creation.lab.name, "invitation": creation.invitation}
        invitation = self.answer(content).data["invitation"]
        return self.answer_once(content, {"invitation": invitation and invitation | {"link": None}})

    @operation(shapes.LabShape, name="lab")
    def retrieve(self, request: Request, pk: int) -> Any:
        """One lab, and your role in it."""
        return self.answer(self.lab, roles=roles_of(self.user))

    @operation(shapes.LabShape, Right.MANAGE, name="lab_rename", takes=lab_shapes.LabName)
    def partial_update(self, request: Request, pk: int) -> Any:
        """Give a lab another name, which no other lab has."""
        lab, sent = self.lab, self.sent
        with refusals_of("name"):
            lab_rename(lab=lab, name=sent["name"])
        return self.answer(lab, roles=roles_of(self.user))

    @get("audit", lab_shapes.AuditShape(many=True), Right.MANAGE, filterset_class=AuditFilter, tags=["Audit"])
    def audit(self, request: Request, pk: int) -> Any:
        """Who did what in a lab, when and why, newest first."""
        entries = audit.entries_of(self.user).filter(lab_id=self.lab.pk)
        return self.page_of(entries, audit.lines)

    @get("templates", lab_shapes.TemplateShape(many=True), tags=["Templates"])
    def templates(self, request: Request, pk: int) -> Any:
        """The templates that campaigns of a lab can begin with."""
        return self.page_of(self.lab.templates.select_related("lab"), lambda page: list(map(template_content, page)))

    @get("pay-floor", lab_shapes.PayFloorShape, tags=["Templates"])
    def pay_floor(self, request: Request, pk: int) -> Any:
        """The dollars an hour below which none of a lab's campaigns can start."""
        return self.lab

    @put(pay_floor, lab_shapes.PayFloorShape, Right.MANAGE, takes=lab_shapes.PayFloorShape, tags=["Templates"])
    def pay_floor_set(self, request: Request, pk: int) -> Any:
        """Set a lab's pay floor, or take it away. What has started stays as it is."""
        return pay_floor_set(lab=self.lab, pay_floor=self.sent["pay_floor"])


class People(Resource):
    """The people of a lab."""

    tags = ["People"]
    lookup_url_kwarg = "membership_pk"

    def get_queryset(self) -> QuerySet[Membership]:
        return self.lab.memberships.select_related("lab", "user")

    @operation(lab_shapes.MemberShape(many=True), name="people")
    def list(self, request: Request, pk: int) -> Any:
        """Who belongs to a lab, and in which role."""
        return self.get_queryset()

    @operation(lab_shapes.MemberShape, name="person")
    def retrieve(self, request: Request, pk: int, membership_pk: int) -> Any:
        """One person's role in a lab."""
        return self.get_object()

    @operation(lab_shapes.MemberShape, Right.MANAGE, name="person_change", takes=lab_shapes.RoleChange)
    def partial_update(self, request: Request, pk: int, membership_pk: int) -> Any:
        """Give a member another role. The last admin of a lab keeps theirs."""
        return people.role_set(membership=self.get_object(), role=self.sent["role"])

    @operation(right=Right.MANAGE, name="person_remove")
    def destroy(self, request: Request, pk: int, membership_pk: int) -> Any:
        """Take a member out of a lab. What they made stays."""
        people.membership_end(membership=self.get_object())

    @post("disable", lab_shapes.MemberShape, Right.SITE)
    def person_disable(self, request: Request, pk: int, membership_pk: int) -> Any:
        """Keep somebody from logging in, from the next request on, and from using tokens. The last admin of a lab or of
        the site is refused (409)."""
        people.user_disable(user=self.get_object().user)
        return self.get_object()

    @post("enable", lab_shapes.MemberShape, Right.SITE)
    def person_enable(self, request: Request, pk: int, membership_pk: int) -> Any:
        """Let somebody log in again."""
        people.user_enable(user=self.get_object().user)
        return self.get_object()

    @post("reset-link", lab_shapes.ResetLink, Right.SITE)
    def person_reset_link(self, request: Request, pk: int, membership_pk: int) -> Any:
        """A link with which a member chooses a new password, for where no mail is set up. The audit keeps that it was
        made."""
        return self.answer_once({"link": logins.reset_link(user=self.get_object().user)}, {"link": None})


class Invitations(Resource):
    """Who is invited to a lab."""

    tags = ["People"]
    lookup_url_kwarg = "invitation_pk"

    @operation(lab_shapes.InvitationShape(many=True), Right.MANAGE, name="invitations")
    def list(self, request: Request, pk: int) -> Any:
        """The invitations that can still be accepted."""
        return people.open_invitations(timezone.now()).filter(lab=self.lab)

    @operation(lab_shapes.InvitationShape, Right.MANAGE, name="invite", takes=lab_shapes.NewInvitation)
    def create(self, request: Request, pk: int) -> Any:
        """Invite somebody to a lab. Nothing is mailed: hand over the link of the answer."""
        return self.answer_once(people.invitation_add(lab=self.lab, **self.signed, **self.sent), {"link": None})

    @operation(right=Right.MANAGE, name="invitation_revoke")
    def destroy(self, request: Request, pk: int, invitation_pk: int) -> Any:
        """Take an invitation back. Its link no longer works."""
        invitation = get_object_or_404(self.lab.member_invitations, pk=invitation_pk)
        people.invitation_revoke(invitation=invitation, at=timezone.now())


class PlatformAccounts(Resource):
    """A lab's accounts at platforms."""

    tags = ["Labs"]
    lookup_url_kwarg = "platform"
    lookup_value_converter = "slug"

    @property
    def about(self) -> dict[str, Any]:
        """The lab and the platform, where labs have accounts of their own there. Raises NotYours and NotAllowed."""
        lab, platform = self.lab, self.kwargs["platform"]
        accounts_at(platform)
        return {"lab": lab, "platform": platform}

    @operation(platform_shapes.PlatformAccountShape, Right.MANAGE, name="platform_account")
    def retrieve(self, request: Request, pk: int, platform: str) -> Any:
        """A lab's account at a platform where each lab has its own, such as `prolific`. Its token is never shown."""
        stored = LabAccount.objects.select_related("by").filter(**self.about).first()
        if stored is None:
            raise NotYours(_("The lab has no account at this platform yet."))
        return stored

    @operation(
        platform_shapes.PlatformAccountShape,
        Right.MANAGE,
        name="platform_account_set",
        takes=platform_shapes.NewAccount,
    )
    def update(self, request: Request, pk: int, platform: str) -> Any:
        """Ask the platform about a token, and store it encrypted, in place of the one before."""
        lab_accounts.lab_account_store(**self.about, **self.signed, **self.sent)
        return LabAccount.objects.select_related("by").get(**self.about)

    @operation(right=Right.MANAGE, name="platform_account_remove")
    def destroy(self, request: Request, pk: int, platform: str) -> Any:
        """Delete the token. Refused (409) while a campaign of the lab is published there."""
        lab_accounts.lab_account_remove(**self.about)


class TemplateOfCampaign(Resource):
    """A campaign as a template."""

    tags = ["Templates"]

    @post("template", lab_shapes.TemplateShape, Right.DESIGN, takes=lab_shapes.NewTemplate, status=201)
    def template_save(self, request: Request, pk: int) -> Any:
        """Save a campaign's settings, wording and terms as a template of its lab, under a name that is new there."""
        return template_content(
            terms_templating.template_save(campaign=self.campaign, name=self.sent["name"], **self.signed)
        )


class Templates(Resource):
    """What campaigns can begin with."""

    tags = ["Templates"]

    @operation(lab_shapes.TemplateShape, name="template")
    def retrieve(self, request: Request, pk: int) -> Any:
        """What a template has."""
        return template_content(templating.template_for(self.user, pk, self.right))

    @operation(lab_shapes.TemplateShape, Right.DESIGN, name="template_change", takes=lab_shapes.TemplateChange)
    def partial_update(self, request: Request, pk: int) -> Any:
        """Change a template's name, settings, wording, consent text or terms, or whether pages begin new campaigns of
        the lab with it: all of it, or nothing. Campaigns that began with it stay as they are."""
        template = templating.template_for(self.user, pk, self.right)
        sent = self.sent
        with transaction.atomic():
            if "settings" in sent or "consent" in sent:
                changes = settings_changed(template, sent)
                template = templating.template_change(template=template, at=timezone.now(), **changes)
            elif "name" in sent:
                template = templating.template_change(template=template, name=sent["name"], at=timezone.now())
            if "terms" in sent:
                terms = terms_changed(template, sent["terms"])
                terms_templating.template_terms_set(template=template, terms=terms, at=timezone.now())
            if sent.get("is_default"):
                templating.template_default_set(lab=template.lab, template=template)
            elif "is_default" in sent and template.is_default:
                templating.template_default_set(lab=template.lab, template=None)
        return template_content(template)

    @operation(right=Right.DESIGN, name="template_delete")
    def destroy(self, request: Request, pk: int) -> Any:
        """Delete a template. Campaigns that began with it stay as they are."""
        templating.template_delete(template=templating.template_for(self.user, pk, self.right))

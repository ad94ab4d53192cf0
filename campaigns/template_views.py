"""The pages of a lab's templates and of its pay floor."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from campaigns import template_terms as terms_templating
from campaigns import templating
from campaigns.forms import TemplateForm
from campaigns.templating import template_for
from core.errors import NotYours, Refused
from core.forms import EditForm
from core.http import Request, edits, refuse_in, see_other
from core.labs import pay_floor_set
from core.lists import Columns, Listing, Sort, render_lists
from core.models import Lab
from core.roles import Right, labs_of, may, needs, require, right_of
from platforms.forms import TermsForm
from pools.http import campaign_crumbs, campaign_of
from pools.models import CampaignTemplate

SORTS: dict[str, Sort] = {"name": "name", "lab": "lab__name", "changed": "changed_at"}


COLUMNS: Columns = {"template": "name", "lab": "lab.name", "default": "is_default", "changed": "changed_at"}


class SaveForm(forms.Form):
    """What a template is called."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=CampaignTemplate._meta.get_field("name").max_length)


class PayFloorForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """A lab's pay floor."""

    class Meta:
        model = Lab
        fields = ["pay_floor"]
        labels = {"pay_floor": gettext_lazy("Pay floor, in dollars an hour")}
        help_texts = {
            "pay_floor": gettext_lazy(
                "A campaign that pays less, for the time that its HITs are expected to take, cannot be started. Leave "
                "empty for no floor. Campaigns that have started stay as they are, and those "
                "whose platform pays in another currency are not held to it."
            )
        }


@needs(Right.SIGNED_IN)
@require_GET
def templates(request: Request) -> HttpResponseBase:
    """The templates and pay floors of the user's labs."""
    labs = labs_of(request.user)
    rows = CampaignTemplate.objects.filter(lab__in=labs).select_related("lab").order_by("lab__name", "name")
    context = {
        "listing": Listing(request, rows, sorts=SORTS, columns=COLUMNS),
        "labs": Listing(request, labs.order_by("name"), key="labs"),
    }
    return render_lists(request, "campaigns/templates.html", context)


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def template_save(request: Request, pk: int) -> HttpResponse:
    """Save a campaign's settings, wording and terms as a template."""
    campaign, status = campaign_of(request, pk), 200
    form = SaveForm(request.POST or None, initial={"name": campaign.name})
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                template = terms_templating.template_save(
                    campaign=campaign, name=form.cleaned_data["name"], by=request.user, at=timezone.now()
                )
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("The template has been saved. New campaigns of the lab can begin with it."))
                return see_other("campaigns:template", template.pk)
    page = {
        "title": _("Save as a template"),
        "of": campaign.name,
        "crumbs": campaign_crumbs(campaign),
        "heading": _("Save “%(name)s” as a template") % {"name": campaign.name},
        "lead": _(
            "New campaigns of %(lab)s can begin with its settings, wording, worked example, consent text, pay and "
            "terms at a platform. Runs, test pairs, lists of queries and baselines are not kept."
        )
        % {"lab": campaign.lab.name},
        "button": _("Save"),
        "back": (_("Cancel"), reverse("campaigns:campaign", args=[pk])),
    }
    return render(request, "core/form.html", {"form": form, **page}, status=status)


@needs(Right.SEE, changing=Right.DESIGN)
@require_http_methods(["GET", "POST"])
@edits
def template(request: Request, pk: int) -> HttpResponse:
    """What a template has. POST changes it; campaigns that began with it stay as they are."""
    template, status = template_for(request.user, pk, right_of(request)), 200
    form = TemplateForm(request.POST or None, template=template)
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                templating.template_change(template=template, at=timezone.now(), **form.changes())
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("The template has been changed. Campaigns stay as they are."))
                return see_other("campaigns:template", pk)
    if not may(request.user, template.lab, Right.DESIGN):
        for field in form.fields.values():
            field.disabled = True
    context = {"template": template, "form": form, "terms": terms_templating.publication_of(template)}
    return render(request, "campaigns/template.html", context, status=status)


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
@edits
def template_terms(request: Request, pk: int) -> HttpResponse:
    """The terms of a template at a platform; `remove` leaves them out."""
    template, status = template_for(request.user, pk, right_of(request)), 200
    if request.method == "POST" and "remove" in request.POST:
        terms_templating.template_terms_set(template=template, terms=None, at=timezone.now())
        messages.success(request, _("The template has no terms any more."))
        return see_other("campaigns:template", pk)
    publication = terms_templating.publication_of(template)
    form = TermsForm(request.POST or None, publication=publication, requirements=publication.requirements)
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                terms_templating.template_terms_set(template=template, terms=form.terms(), at=timezone.now())
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("The template's terms have been saved. Campaigns stay as they are."))
                return see_other("campaigns:template", pk)
    return render(request, "campaigns/template_terms.html", {"template": template, "form": form}, status=status)


@needs(Right.DESIGN)
@require_POST
def template_default(request: Request, pk: int) -> HttpResponse:
    """Have the lab's new campaigns begin with this template, or with none."""
    template = template_for(request.user, pk, right_of(request))
    is_wanted = request.POST.get("is_default") == "yes"
    if is_wanted:
        templating.template_default_set(lab=template.lab, template=template)
        messages.success(request, _("New campaigns of the lab begin with “%(name)s”.") % {"name": template.name})
    elif template.is_default:
        templating.template_default_set(lab=template.lab, template=None)
        messages.success(request, _("New campaigns of the lab begin with the usual settings."))
    return see_other("campaigns:templates")


@needs(Right.DESIGN)
@require_POST
def template_delete(request: Request, pk: int) -> HttpResponse:
    template = template_for(request.user, pk, right_of(request))
    templating.template_delete(template=template)
    messages.success(request, _("The template “%(name)s” has been deleted.") % {"name": template.name})
    return see_other("campaigns:templates")


@needs(Right.MANAGE)
@require_http_methods(["GET", "POST"])
@edits
def pay_floor(request: Request, pk: int) -> HttpResponse:
    """A lab's pay floor."""
    lab, status = labs_of(request.user).filter(pk=pk).first(), 200
    if lab is None:
        raise NotYours(_("There is no such lab, or it is not yours."))
    require(request.user, lab, Right.MANAGE)
    form = PayFloorForm(request.POST or None, instance=lab)
    if request.method == "POST":
        if form.is_valid():
            pay_floor_set(lab=lab, pay_floor=form.cleaned_data["pay_floor"])
            messages.success(request, _("The pay floor has been stored."))
            return see_other("campaigns:templates")
        status = 400
    page = {
        "title": _("Pay floor"),
        "of": lab.name,
        "crumbs": [(_("Templates"), reverse("campaigns:templates"))],
        "heading": _("Pay floor of %(lab)s") % {"lab": lab.name},
        "button": _("Save"),
        "back": (_("Cancel"), reverse("campaigns:templates")),
    }
    return render(request, "core/form.html", {"form": form, **page}, status=status)

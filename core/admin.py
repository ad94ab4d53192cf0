"""The admin site: people and labs are managed here; what campaigns rest on is shown, and does not change."""

from typing import TYPE_CHECKING, Any

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import Group
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.errors import NotYours
from core.forms import EditForm
from core.http import edit_in_turn
from core.models import Alarm, Lab, Membership, User
from core.people import is_last_site_admin, why_needed, why_role_needed

if TYPE_CHECKING:  # the classes take parameters in their stubs alone
    _ModelAdmin = admin.ModelAdmin[Any]
    _UserAdmin = UserAdmin[User]
else:
    _ModelAdmin = admin.ModelAdmin
    _UserAdmin = UserAdmin

admin.site.site_header = gettext_lazy("Bestknown administration")
admin.site.site_title = gettext_lazy("Bestknown")
admin.site.index_title = gettext_lazy("Site administration")


def _log_in_once(request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
    """The site has one log-in, with a limit on tries; the admin site has none of its own."""
    if request.user.is_authenticated:
        raise NotYours(_("The admin site is for admins. Log out, then log in with another account."))
    return redirect_to_login(request.GET.get("next") or request.get_full_path())


admin.site.login = _log_in_once  # type: ignore[method-assign]
admin.site.unregister(Group)  # rights follow labs and the two marks of an admin


class EditedForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """What the admin site's forms are made from."""


class _Admin(_ModelAdmin):
    """Rows of which nobody's edit is undone in silence."""

    form: "type[forms.ModelForm[Any]]" = EditedForm

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """One at a time reads, compares and writes."""
        if request.method != "POST":
            return super().changeform_view(request, *args, **kwargs)
        with edit_in_turn(request):
            return super().changeform_view(request, *args, **kwargs)


class Shown(_Admin):
    """Read-only rows: only services write them."""

    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class Annotated(_Admin):
    """Rows of which an admin may change some fields that nothing is computed from; the others are shown."""

    changeable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    show_full_result_count = False
    list_per_page = 50

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        """All fields but those that may change."""
        fields = [*self.opts.fields, *self.opts.many_to_many]
        without = (*self.changeable, *self.hidden)
        return [field.name for field in fields if field.editable and field.name not in without]

    def get_exclude(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        """What is not shown."""
        return list(self.hidden)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody: deletion goes through services, which know what depends on the row."""
        return False


class PersonForm(EditForm, UserChangeForm):  # type: ignore[type-arg]  # generic in its stubs only
    """A person's fields; the last admin stays one."""

    def clean(self) -> dict[str, Any]:
        """Refuse what would leave nobody who can manage the site."""
        data = super().clean() or self.cleaned_data
        stays_admin = data.get("is_staff", True) and data.get("is_superuser", True)
        if not stays_admin and is_last_site_admin(self.instance):
            raise ValidationError(_("This is the only admin of the site. Make someone else an admin first."))
        if not data.get("is_active", True) and (why := why_needed(self.instance)):
            raise ValidationError(why)
        return data


class MembershipForm(EditedForm):
    """Somebody's role in a lab; the last admin stays one."""

    def clean(self) -> dict[str, Any]:
        """Refuse what would leave nobody who manages the lab."""
        data = super().clean() or self.cleaned_data
        if self.instance.pk is None:
            return data
        stored = Membership.objects.select_related("lab", "user").get(pk=self.instance.pk)
        entered = (data.get("lab"), data.get("user"), data.get("role"))
        stays = entered == (stored.lab, stored.user, Membership.Role.ADMIN)
        if not stays and (why := why_role_needed(stored)):
            raise ValidationError(why)
        return data


@admin.register(User)
class PersonAdmin(_Admin, _UserAdmin):
    """People who log in. What they may do follows from their labs, or from being an admin."""

    form = PersonForm
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        (gettext_lazy("Personal info"), {"fields": ("first_name", "last_name", "email")}),
        (gettext_lazy("Permissions"), {"fields": ("is_active", "is_staff", "is_superuser")}),
        (gettext_lazy("Important dates"), {"fields": ("last_login", "date_joined")}),
    )
    list_filter = ("is_staff", "is_superuser", "is_active")
    list_per_page = 50
    filter_horizontal = ()

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Several people are not deleted at once: the last admin may be among them."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Everybody but the last admin of the site or of a lab, and oneself."""
        if obj is not None and (obj == request.user or why_needed(obj)):
            return False
        return super().has_delete_permission(request, obj)


@admin.register(Lab)
class LabAdmin(_Admin):
    """Labs. Their members are under Memberships, which has pages."""

    list_display = ["name"]
    search_fields = ["name"]
    list_per_page = 50


for _model in (SocialAccount, SocialApp, SocialToken, UserSession):  # set by the environment, or one's own to see
    admin.site.unregister(_model)
admin.site.unregister(Authenticator)


@admin.register(Authenticator)
class SecondFactorAdmin(Shown):
    """Second factors, without their secrets. Deleting them lets somebody in again who has lost theirs."""

    list_display = ["user", "type", "created_at", "last_used_at"]
    list_select_related = ["user"]
    search_fields = ["user__username"]
    exclude = ["data"]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.is_superuser


@admin.register(Membership)
class MembershipAdmin(_Admin):
    """Who belongs to which lab, and as what."""

    form = MembershipForm
    list_display = ["lab", "user", "role"]
    list_filter = ["role"]
    list_select_related = ["lab", "user"]
    search_fields = ["lab__name", "user__username"]
    raw_id_fields = ["lab", "user"]
    list_per_page = 50

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Several are not deleted at once: a lab's last admin may be among them."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def has_delete_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        if obj is not None and why_role_needed(obj):
            return False
        return super().has_delete_permission(request, obj)


@admin.register(Alarm)
class AlarmAdmin(Shown):
    """What a person must look at, or had to."""

    list_display = ["kind", "of", "text", "raised_at", "settled_at"]
    list_filter = ["kind"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Alarm]:
        return super().get_queryset(request).prefetch_related("of")

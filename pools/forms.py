"""What forms about campaigns share: choosing a version, and checking how results are read."""

from typing import TYPE_CHECKING

from django import forms
from django.db.models import Model
from django.utils.translation import gettext as _

from core.errors import Refused
from pools import services as pool_services
from pools.models import Campaign, QrelsVersion
from runs.models import Collection

if TYPE_CHECKING:  # the class takes a parameter in its stubs alone
    _VersionChoice = forms.ModelChoiceField[QrelsVersion]
else:
    _VersionChoice = forms.ModelChoiceField


def check_reading(form: forms.BaseForm, collection: Collection) -> None:
    """Add an error to a form where the comparisons that it chooses cannot be made."""
    data = form.cleaned_data
    if "comparisons" in data and not {"baseline", "compared_pairs"} & set(form.errors):
        try:
            pool_services.check_comparisons(
                collection=collection,
                comparisons=data["comparisons"],
                baseline=data["baseline"],
                compared_pairs=data["compared_pairs"],
            )
        except Refused as error:
            is_baseline = data["comparisons"] == Campaign.Comparisons.BASELINE
            form.add_error("baseline" if is_baseline else "compared_pairs", str(error))


class VersionChoiceField(_VersionChoice):
    """Versions of the preference qrels by number."""

    def label_from_instance(self, obj: Model) -> str:
        assert isinstance(obj, QrelsVersion)
        return _("version %(number)d") % {"number": obj.number}

"""A share that is stored as one, asked for in percent and shown in percent."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

_THOUSANDTH = Decimal("0.001")


def in_percent(share: float | Decimal, digits: str = "g") -> str:
    """A share from 0 to 1 in percent, by default with the digits that it has; `.0f` is for whole percent.

    >>> in_percent(Decimal("0.0937")), in_percent(0.05), in_percent(2 / 3, ".1f")
    ('9.37%', '5%', '66.7%')
    """
    return _("%(percent)s%%") % {"percent": format(100 * float(share), digits)}


class PercentField(forms.DecimalField):
    """A share, asked for in percent."""

    def prepare_value(self, value: Any) -> Any:
        """`20` for 0.2; what was typed stays as it was."""
        if isinstance(value, Decimal):
            return f"{(value * 100).normalize():f}"
        return value

    def clean(self, value: Any) -> Any:
        percent = super().clean(value)
        return None if percent is None else (percent / 100).quantize(_THOUSANDTH)  # as it is stored


class ShareField(models.DecimalField):  # type: ignore[type-arg]  # generic in its stubs only
    """A share with three decimals, from `least` to `most`."""

    def __init__(self, *arguments: Any, least: Decimal = Decimal(0), most: Decimal | None = None, **named: Any) -> None:
        self.least, self.most = least, most
        if most is not None:
            named["validators"] = [MinValueValidator(least), MaxValueValidator(most)]
        super().__init__(*arguments, **{"max_digits": 4, "decimal_places": 3} | named)

    def deconstruct(self) -> Any:
        """In migrations it is any decimal: what is stored is no different."""
        name, _path, arguments, named = super().deconstruct()
        return name, "django.db.models.DecimalField", arguments, named

    def formfield(self, **named: Any) -> Any:
        label = format_lazy(gettext_lazy("{label}, in percent"), label=self.verbose_name)
        most = None if self.most is None else 100 * self.most
        limits = {"min_value": 100 * self.least, "max_value": most, "max_digits": None, "decimal_places": 1}
        return super().formfield(**{"form_class": PercentField, "label": label, **limits, **named})

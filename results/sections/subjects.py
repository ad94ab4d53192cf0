"""What results are about. Each subject is a page; each table, figure and group of sentences says whose it is."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class Subject(TextChoices):
    """In the order in which they are read. A value is the end of an address."""

    FINDINGS = "findings", _("Findings")
    CERTAINTY = "certainty", _("How sure")
    RUNS = "runs", _("Run against run")
    PASSAGES = "passages", _("Passage against passage")
    PEOPLE = "people", _("People")

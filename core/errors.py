"""Refusals: what a person asked for and cannot have, in words for that person.

They are raised by services and turned into pages and API answers in one place (config/middleware.py).
"""

from django.core.exceptions import ValidationError


class Refused(Exception):
    """Something that was asked for is not possible. The text is shown as it is, beside the `field` that it is about."""

    status = 409
    title = "That is not possible"
    field: str | None = None
    # Where to go from here, as address and words for it.
    way_out: tuple[str, str] | None = None
    # The address of the platform in whose frame this is said.
    framed_by: str | None = None

    def __init__(self, *words: object, field: str | None = None) -> None:
        super().__init__(*words)
        self.field = field


class NotYours(Refused):
    """The thing belongs to someone else, or the address is not (or no longer) valid."""

    status = 404
    title = "Page not found"


class NotNow(Refused):
    """The thing's state does not allow it (any more)."""


class NotMadeYet(Refused):
    """A file that a job makes is not there yet."""

    status = 404
    title = "Not made yet"


class FileAway(Refused):
    """A stored file is not where it should be, or file storage does not answer."""

    status = 503
    title = "A file is missing"


class FileMissing(FileAway):
    """File storage answers, and does not have it."""


class BadRequest(Refused):
    """What was sent cannot be understood."""

    status = 400
    title = "We could not understand that"


def validation_in_words(error: ValidationError) -> str:
    """The messages of a model that is not valid, each after its field."""
    if not hasattr(error, "error_dict"):
        return " ".join(error.messages)
    return " ".join(
        f"{field.replace('_', ' ')}: {' '.join(messages)}" if field != "__all__" else " ".join(messages)
        for field, messages in error.message_dict.items()
    )

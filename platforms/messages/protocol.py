"""What messages ask of a platform."""

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from platforms.models import Publication


class Heard(NamedTuple):
    """A message that a worker wrote, as the platform says it. `hit_id` is the HIT, or `study` the study, that it is
    about; empty where it is about none. `cursor` is what to ask for later ones by.
    """

    message_id: str
    worker_id: str
    hit_id: str
    subject: str
    text: str
    sent_at: datetime
    cursor: str
    study: str = ""


class Messages(ABC):
    """Writing to workers. `has_subjects`: whether messages have one. `reaches_beginners`: whether a message reaches
    also those who have submitted no work.
    """

    has_subjects: ClassVar[bool] = True
    reaches_beginners: ClassVar[bool] = False

    @abstractmethod
    def about_writing(self) -> str:
        """Whom a message reaches, and within what limits, for whoever is about to write one."""

    @abstractmethod
    def write_to(
        self, client: Any, publication: Publication, *, subject: str, text: str, worker_ids: list[str]
    ) -> dict[str, str]:
        """Send a message to up to 100 workers, in one call. Those it did not reach, by id, each with why."""


class Inbox(ABC):
    """A platform that says what workers write."""

    @abstractmethod
    def messages_after(self, cursor: str) -> list[Heard]:
        """What workers wrote since the `cursor` of an earlier answer (empty: ever), the oldest first; some of it if it
        is much, and perhaps the last again.
        """

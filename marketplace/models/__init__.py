"""Who is on the marketplace, what is offered and done there, and the money that moves."""

from marketplace.models.accounts import (
    AccessKey,
    Account,
    ApiCall,
    AuditEvent,
    DailyRun,
    Invitation,
    Requester,
    Tries,
    Worker,
    WorkerBlock,
)
from marketplace.models.hits import LIVE_STATES, Assignment, DueFailure, Hit, HitType, UniqueRequestToken
from marketplace.models.ledger import BonusPayment, DepositRequest, Entry, PayoutList
from marketplace.models.messages import Dispute, Message
from marketplace.models.notifications import EventKind, Notification, NotificationSubscription
from marketplace.models.qualifications import Qualification, QualificationRequest, QualificationType

__all__ = [
    "LIVE_STATES",
    "AccessKey",
    "Account",
    "ApiCall",
    "Assignment",
    "AuditEvent",
    "BonusPayment",
    "DailyRun",
    "DepositRequest",
    "Dispute",
    "DueFailure",
    "Entry",
    "EventKind",
    "Hit",
    "HitType",
    "Invitation",
    "Message",
    "Notification",
    "NotificationSubscription",
    "PayoutList",
    "Qualification",
    "QualificationRequest",
    "QualificationType",
    "Requester",
    "Tries",
    "UniqueRequestToken",
    "Worker",
    "WorkerBlock",
]

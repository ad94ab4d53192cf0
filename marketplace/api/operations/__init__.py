"""What answers each operation of the service model. Importing this fills calls.HANDLERS."""

from marketplace.api.operations import accounts, assignments, hits, notifications, qualifications

__all__ = ["accounts", "assignments", "hits", "notifications", "qualifications"]

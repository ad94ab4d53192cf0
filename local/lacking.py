"""What this installation lacks, in a sentence: what a command says in place of a traceback."""

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError, OperationalError
from kombu.exceptions import OperationalError as BrokerError
from psycopg2 import errors
from redis.exceptions import RedisError

from local.embedded import EmbeddedServerError

_OF_ANOTHER_VERSION = (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction)


def lacking(error: BaseException) -> str:
    """The sentence; empty for an error that says nothing about what is lacking."""
    if isinstance(error, ImproperlyConfigured | EmbeddedServerError):
        return str(error)
    if isinstance(error, DatabaseError) and isinstance(error.__cause__, _OF_ANOTHER_VERSION):
        return "The database does not have the tables of this version. Run: python manage.py migrate"
    if isinstance(error, OperationalError | InterfaceError):
        return f"PostgreSQL does not answer ({_first_line(error)}). Start it, or correct DATABASE_URL."
    if isinstance(error, RedisError | BrokerError):
        return f"Redis does not answer ({_first_line(error)}). Start it, or correct REDIS_URL."
    return ""


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)

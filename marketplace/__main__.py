"""The marketplace's command line: `python -m marketplace help` lists what it can do."""

import os
import sys


def main() -> None:
    """Run a management command with the marketplace's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.settings")

    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError, InterfaceError, OperationalError
    from psycopg2 import errors

    try:
        _ = settings.INSTALLED_APPS  # else Django says that there is no such command
        execute_from_command_line(["python -m marketplace", *sys.argv[1:]])
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    except (DatabaseError, InterfaceError) as error:
        if "--traceback" in sys.argv:
            raise
        if isinstance(error.__cause__, errors.UndefinedTable | errors.UndefinedColumn):
            sys.exit("The database does not have the tables of this version. Run: python -m marketplace migrate")
        if not isinstance(error, OperationalError | InterfaceError):
            raise
        sys.exit(
            f"PostgreSQL does not answer ({str(error).partition(chr(10))[0]}). Start it, or correct "
            "MARKETPLACE_DATABASE_URL."
        )


if __name__ == "__main__":
    main()

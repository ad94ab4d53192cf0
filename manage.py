#!/usr/bin/env python
"""Bestknown's command line: `python manage.py help` lists what it can do."""

import os
import sys

# These look at code and settings only, and so start no services.
NEEDS_NO_SERVICES = {
    "check",
    "collectstatic",
    "compilemessages",
    "help",
    "makemessages",
    "version",
    "--help",
    "--version",
}


def main() -> None:
    """Start the embedded services where no others are configured, then run the command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    needs_services = len(sys.argv) > 1 and sys.argv[1] not in NEEDS_NO_SERVICES
    try:
        if needs_services:
            from local import embedded

            embedded.ensure()

        from django.conf import settings
        from django.core.management import execute_from_command_line

        if needs_services:
            _ = settings.INSTALLED_APPS  # else Django says that there is no such command
        execute_from_command_line(sys.argv)
    except Exception as error:
        from local.lacking import lacking

        if "--traceback" in sys.argv or not (sentence := lacking(error)):
            raise
        sys.exit(sentence)


if __name__ == "__main__":
    main()

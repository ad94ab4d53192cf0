"""The marketplace's command line: `python -m marketplace help` lists what it can do."""

import os
import sys


def main() -> None:
    """Run a management command with the marketplace's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.settings")

    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        _ = settings.INSTALLED_APPS  # else Django says that there is no such command
        execute_from_command_line(["python -m marketplace", *sys.argv[1:]])
    except ImproperlyConfigured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

"""The application as a WSGI server sees it."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_STATEMENT_SECONDS", "60")

application = get_wsgi_application()

# Jobs that pages ask for go where the application has its queue: without it, Celery looks for one of its own.
import config.celery  # noqa: E402, F401 - after the settings are there, which tells it that this is a web server

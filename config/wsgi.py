"""The application as a WSGI server sees it."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_STATEMENT_SECONDS", "60")

application = get_wsgi_application()
_ = get_resolver().url_patterns  # loads all pages before gunicorn's workers are copied from this process

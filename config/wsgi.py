"""The application as a WSGI server sees it."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_STATEMENT_SECONDS", "60")

application = get_wsgi_application()

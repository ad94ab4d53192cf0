"""The marketplace as a WSGI server sees it: `gunicorn marketplace.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.settings")
os.environ.setdefault("MARKETPLACE_STATEMENT_SECONDS", "60")

application = get_wsgi_application()

"""The marketplace as a WSGI server sees it: `gunicorn marketplace.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.settings")

application = get_wsgi_application()

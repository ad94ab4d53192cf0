"""The marketplace's own settings, and what only tests add."""

from marketplace.settings import *  # noqa: F403
from marketplace.settings import INSTALLED_APPS, MIDDLEWARE

INSTALLED_APPS = [*INSTALLED_APPS, "tests.marketplace.testing"]
MIDDLEWARE = [*MIDDLEWARE, "tests.marketplace.testing.middleware.Faults"]
ROOT_URLCONF = "tests.marketplace.testing.urls"
# Crowds of hundreds register, and nobody's real password is there.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

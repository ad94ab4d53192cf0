"""The site's settings, for simulated people whose database may be away for a while."""

from config.settings import *  # noqa: F403
from config.settings import DATABASES

DATABASES["default"]["ENGINE"] = "tests.hosts.patient"

"""While the marketplace's database does not answer."""

import os
import subprocess
import sys

from tests.conftest import REPOSITORY

ASK = """
import django
django.setup()
from django.test import Client
client = Client(raise_request_exception=False, HTTP_HOST="localhost")
for path in ("/healthz", "/login"):
    answer = client.get(path)
    print(path, answer.status_code, answer.get("Retry-After"), "waiting for its database" in answer.content.decode())
answer = client.post("/", "{}", content_type="application/x-amz-json-1.1", HTTP_X_AMZ_TARGET="X.GetAccountBalance")
print(answer.status_code >= 400)
"""


def test_pages_and_checks_of_health_are_answered_with_503_and_a_sentence() -> None:
    environment = {
        "DEVELOPMENT": "1",
        "DJANGO_SETTINGS_MODULE": "marketplace.settings",
        "MARKETPLACE_SECRET_KEY": "x",
        "MARKETPLACE_DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
    }
    done = subprocess.run(
        [sys.executable, "-c", ASK], cwd=REPOSITORY, env=os.environ | environment, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[0] == "/healthz 503 5 True", done.stdout + done.stderr

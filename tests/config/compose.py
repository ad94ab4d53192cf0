"""Stands in for Compose where there is no engine: `run` calls the same programs with a site's own databases and files.

What is called is written to CALLS, a line each. `down --volumes` leaves empty databases and no files.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.databases import database_create

REPOSITORY = Path(__file__).parents[2]
PYTHON = [sys.executable]
PROGRAMS = {
    "backup": ["bash", "docker/backup.sh"],
    "migrate": [*PYTHON, "manage.py", "migrate", "--verbosity", "0"],
    "marketplace-migrate": [*PYTHON, "-m", "marketplace", "migrate", "--verbosity", "0"],
    "marketplace-database": ["true"],
    "web": [],
    "marketplace": [],
}


def main(command: str, *options: str) -> int:
    with Path(os.environ["CALLS"]).open("a") as calls:
        calls.write(" ".join([os.environ["COMPOSE_PROJECT_NAME"], command, *options]) + "\n")
    if command == "down":
        os.environ["DATABASE_URL"] = os.environ["SERVER_ADDRESS"]
        for name in ("SITE_DATABASE", "MARKET_DATABASE"):
            database_create(os.environ[name])
        shutil.rmtree(os.environ["FILES"], ignore_errors=True)
        Path(os.environ["FILES"]).mkdir()
    if command != "run":
        return 0
    service, *arguments = (option for option in options if option not in ("--rm", "--no-deps", "-T"))
    addresses = {
        "DATABASE_URL": os.environ["SITE_ADDRESS"],
        "MARKETPLACE_DATABASE_URL": os.environ["MARKET_ADDRESS"] if "market" in os.environ["COMPOSE_PROFILES"] else "",
        "REDIS_URL": os.environ["SITE_REDIS"],
        "MEDIA_ROOT": os.environ["FILES"],
    }
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"} | addresses
    program = [*PROGRAMS[service], *(PYTHON if arguments[:1] == ["python"] else arguments[:1]), *arguments[1:]]
    return subprocess.run(program, cwd=REPOSITORY, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

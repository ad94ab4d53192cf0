"""manage.py call_api: whatever the REST API can do, from the command line, as JSON."""

import json
import time
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.http import FileResponse
from django.urls import resolve
from django.utils import timezone
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory, force_authenticate

from api.models import Scope, Token
from api.problems import NotAskedFor
from core.audit.origin import acting, origin
from core.comparing import compared
from core.direct import Redirect
from core.management.files import write_output
from core.models import User
from runs import background, fetching
from runs.models import Job

METHODS = ("get", "post", "put", "patch", "delete")
SECONDS = 0.5  # between looks at a job that a worker is doing


class Command(BaseCommand):
    """Call the API in this process, as somebody."""

    help = (
        "Call the REST API in this process, as somebody, and print the answer: everything that docs/api.md and /api/ "
        "name, without a running site. --dry-run shows the answer and changes nothing; --wait does the job that is "
        "answered. What is refused is an error that says why."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("method", choices=METHODS)
        parser.add_argument("address", help="after /api/v1/, such as campaigns/3/pause/ or 'runs/?name=bm25'")
        parser.add_argument("--as", dest="user", required=True, help="the user name of whoever does it")
        parser.add_argument("--json", help="what is sent, as a JSON object")
        several: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
        parser.add_argument("--set", metavar="FIELD=VALUE", help="fields of a form (multipart/form-data)", **several)
        parser.add_argument("--file", metavar="FIELD=PATH", help="files of a form", **several)
        parser.add_argument("--dry-run", action="store_true", help="show the answer, and change nothing")
        parser.add_argument("--wait", action="store_true", help="do the job that is answered, and print how it ended")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username_key=compared(options["user"]), is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user called {options['user']}.")
        if options["dry_run"] and options["file"]:
            raise CommandError("A dry run cannot send files: they would be stored.")
        command = origin()._replace(person=user.pk)
        with acting(lambda: command):
            self._answer(user, options)

    def _answer(self, user: User, options: dict[str, Any]) -> None:
        try:
            with transaction.atomic():
                response = _call(user, options)
                if options["dry_run"]:
                    transaction.set_rollback(True)
        except NotAskedFor as error:  # as the transaction was stored
            raise CommandError(str(error.detail)) from error
        if isinstance(response, FileResponse):
            write_output(b"".join(response.streaming_content))  # type: ignore[arg-type]
            return
        if isinstance(response, Redirect):
            with default_storage.open(response.name) as file:
                write_output(file.read())
            return
        if not isinstance(response, Response):
            write_output(response.content)
            return
        content = response.data
        if response.status_code >= 400:
            raise CommandError(content["detail"])
        if options["wait"] and response.status_code == 202 and "state" in content and not options["dry_run"]:
            job = _do(content["id"], fetch=content["state"] == Job.State.RECEIVING)
            content = {"id": job.pk, "state": job.state, "error": job.error, "complaints": job.complaints} | {
                "collection": job.collection_id,
                "run": job.run_id,
                "campaign": job.outcome_id,
            }
            if job.state != Job.State.DONE:
                raise CommandError(f"{job.state}: {job.error}")
        if content is not None:
            text = json.dumps(content, indent=2, ensure_ascii=False, default=str)
            self.stdout.write(text)


def _call(user: User, options: dict[str, Any]) -> Any:
    address = f"/api/v1/{options['address'].rpartition('/api/v1/')[2].lstrip('/')}"  # `next` is a whole one
    match = resolve(urlsplit(address).path)  # what is no address is answered there, too
    site = urlsplit(settings.SITE_URL)
    send = partial(getattr(APIRequestFactory(), options["method"]), address, secure=site.scheme == "https")
    if options["method"] == "get" and (options["json"] or options["file"] or options["set"]):
        raise CommandError("“get” sends nothing: what it asks for is in the address, such as 'runs/?name=bm25'.")
    if options["file"] or options["set"]:
        fields = dict(_split(pair) for pair in options["set"])
        files = {name: _upload(path) for name, path in map(_split, options["file"])}
        request = send(fields | files, format="multipart")
    elif options["json"]:
        request = send(options["json"], content_type="application/json")
    else:
        request = send()
    request.get_host = lambda: site.netloc  # for links; nobody sent it, so ALLOWED_HOSTS has no say
    token = Token(user=user, name="command line", scopes=Scope.values, expires_at=timezone.now())
    force_authenticate(request, user, token)  # type: ignore[arg-type]  # a token of ours
    response = match.func(request, *match.args, **match.kwargs)
    return response.render() if isinstance(response, Response) else response


def _do(job_id: int, *, fetch: bool) -> Job:
    """The job, once it is done here, or by a worker that was faster; or as it is where it is to be tried again."""
    if fetch:
        fetching.dataset_fetch(job_id=job_id)
    while True:
        background.job_do(job_id=job_id)
        job = Job.objects.get(pk=job_id)
        if job.state != Job.State.WAITING or job.retry_at is not None:
            return job
        time.sleep(SECONDS)


def _split(pair: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not equals:
        raise CommandError(f"“{pair}” is not FIELD=VALUE.")
    return name, value


def _upload(path: str) -> SimpleUploadedFile:
    try:
        return SimpleUploadedFile(Path(path).name, Path(path).read_bytes())
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from error

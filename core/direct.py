"""Large files go between the bucket and the browser, and not through a web server."""

import functools
import io
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.core.files.storage import default_storage
from django.http import FileResponse, HttpResponse, HttpResponseRedirect
from django.utils.http import content_disposition_header

LARGE = 5_000_000  # bytes; pages draw smaller files, and may draw what comes from this site alone
SECONDS = 60  # in which a download has to begin
PART_BYTES = 16 << 20  # S3 takes 5 MB to 5 GB in each part but the last, and 10,000 parts
PART_SECONDS = 3600  # in which a part has to begin
PARTS_AT_ONCE = 20  # whose addresses are given together
READ_BYTES = 1 << 20  # at a time, of an object that is looked at in place

View = TypeVar("View", bound=Callable[..., HttpResponse])


class Part(NamedTuple):
    """A part of a file that the bucket lacks: its bytes from `start` are to be sent by PUT to `url`, so many."""

    start: int
    size: int
    url: str


def least_bytes() -> int:
    """From how many bytes on files go straight from the bucket, and to it; 0 if none do."""
    return LARGE if settings.FILES_DIRECT else 0


def is_direct(size: int) -> bool:
    """Whether a file of so many bytes is fetched from the bucket itself."""
    return 0 < least_bytes() <= size


class Redirect(HttpResponseRedirect):
    """A redirect to a stored file, at an address that works for a minute, and for whoever has it: ask before."""

    def __init__(self, name: str, *, size: int, filename: str, content_type: str) -> None:
        disposition = str(content_disposition_header(True, filename))
        answer = {
            "ResponseContentDisposition": disposition,
            "ResponseContentType": content_type,
            "ResponseCacheControl": "private, no-store",
        }
        super().__init__(default_storage.url(name, parameters=answer, expire=SECONDS))  # type: ignore[call-arg]
        self["Cache-Control"] = "private, no-store"
        self.name = name
        self._file = {"Content-Disposition": disposition, "Content-Type": content_type, "Content-Length": str(size)}

    def describe(self) -> None:
        """Say what the file is, instead of where."""
        self.status_code = 200
        del self["Location"]
        for header, value in self._file.items():
            self[header] = value


def stored_file_response(
    name: str, *, size: int, filename: str, content_type: str, etag: str = ""
) -> FileResponse | Redirect:
    """A stored file as a download, a part at a time; or, if it is large, a redirect to where its bucket has it.

    Raises FileNotFoundError if storage does not have the file, and botocore's errors if it cannot be asked.
    """
    response: FileResponse | Redirect
    if is_direct(size):
        if not default_storage.exists(name):
            raise FileNotFoundError(name)
        response = Redirect(name, size=size, filename=filename, content_type=content_type)
    else:
        content = default_storage.open(name)
        response = FileResponse(content, as_attachment=True, filename=filename, content_type=content_type)
        response["Content-Length"] = size
    if etag:
        response["ETag"] = f'"{etag}"'
    return response


def upload_begin(name: str) -> str:
    """Have the bucket take the parts of a new object. The id by which it knows them. Raises botocore's errors."""
    return str(_client().create_multipart_upload(**_object(name))["UploadId"])


def upload_continue(name: str, upload_id: str, size: int) -> tuple[int, list[Part]]:
    """How many bytes of an object the bucket has, and the next parts that it lacks. Once it lacks none, the object is
    put together, and the answer is `(size, [])`, however often it is asked for.

    An address takes as many bytes as its part has, for an hour. Raises FileNotFoundError if the bucket knows neither
    parts nor object, and botocore's errors.
    """
    client, upload = _client(), _object(name) | {"UploadId": upload_id}
    try:
        pages = client.get_paginator("list_parts").paginate(**upload)
        stored = {part["PartNumber"]: part for page in pages for part in page.get("Parts", [])}
    except client.exceptions.NoSuchUpload as error:
        if not default_storage.exists(name) or default_storage.size(name) != size:
            raise FileNotFoundError(name) from error
        return size, []
    sizes = {number: min(PART_BYTES, size - start) for number, start in enumerate(range(0, size, PART_BYTES), start=1)}
    lacking = [number for number in sizes if number not in stored or stored[number]["Size"] != sizes[number]]
    if not lacking:
        parts = [{"PartNumber": number, "ETag": stored[number]["ETag"]} for number in sizes]
        client.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
        return size, []

    def address(number: int) -> str:
        about = upload | {"PartNumber": number, "ContentLength": sizes[number]}
        return str(client.generate_presigned_url("upload_part", Params=about, ExpiresIn=PART_SECONDS))

    next_parts = [Part((number - 1) * PART_BYTES, sizes[number], address(number)) for number in lacking[:PARTS_AT_ONCE]]
    return size - sum(sizes[number] for number in lacking), next_parts


def upload_abandon(name: str, upload_id: str) -> None:
    """Delete an object, or its parts as far as the bucket has them. Raises botocore's errors."""
    client = _client()
    if upload_id:
        with suppress(client.exceptions.NoSuchUpload):
            client.abort_multipart_upload(**_object(name), UploadId=upload_id)
    default_storage.delete(name)


def sends_files(view: View) -> View:
    """A view whose page may send parts to the bucket, if files go there at all."""

    @functools.wraps(view)
    def run(*args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = view(*args, **kwargs)
        if settings.FILES_DIRECT:
            part = _object("page") | {"UploadId": "page", "PartNumber": 1}
            bucket = urlsplit(_client().generate_presigned_url("upload_part", Params=part))
            # as csp.decorators.csp_update does
            response._csp_update = {"connect-src": f"{bucket.scheme}://{bucket.netloc}"}  # type: ignore[attr-defined]
        return response

    return cast(View, run)


def open_in_place(name: str, size: int) -> io.BufferedReader:
    """An object of so many bytes, of which no more is fetched than is read. Seekable."""
    return io.BufferedReader(_Ranges(name, size), READ_BYTES)


class _Ranges(io.RawIOBase):
    """An object whose bytes are fetched as they are asked for."""

    def __init__(self, name: str, size: int) -> None:
        self._name, self._size, self._at = name, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        part = self._fetch(min(self._at + len(buffer), self._size))
        buffer[: len(part)] = part
        return len(part)

    def readall(self) -> bytes:
        return self._fetch(self._size)  # at once: RawIOBase asks for 8 KB at a time

    def _fetch(self, end: int) -> bytes:
        if end <= self._at:
            return b""
        answer = _client().get_object(**_object(self._name), Range=f"bytes={self._at}-{end - 1}")
        part: bytes = answer["Body"].read()
        self._at += len(part)
        return part


def _client() -> Any:
    return default_storage.connection.meta.client  # type: ignore[attr-defined]  # of S3's


def _object(name: str) -> dict[str, str]:
    return {"Bucket": default_storage.bucket_name, "Key": name}  # type: ignore[attr-defined]

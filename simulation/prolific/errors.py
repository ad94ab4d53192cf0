"""A refusal of the API, in the documented shape."""

from typing import Any


class ApiError(Exception):
    """What the API answers instead. `detail` is a sentence, a list of them, or a list for each field."""

    def __init__(self, status: int, title: str, detail: str | list[str] | dict[str, list[str]], **headers: str) -> None:
        super().__init__(f"{status} {title}: {detail}")
        self.status, self.title, self.detail = status, title, detail
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def body(self) -> dict[str, Any]:
        """The error as the API writes it."""
        error = {"status": self.status, "error_code": 140000 + self.status, "title": self.title, "detail": self.detail}
        return {"error": error | {"additional_information": "/api/v1/docs/errors"}}


def bad(detail: str | list[str] | dict[str, list[str]]) -> ApiError:
    """A request that cannot be followed."""
    return ApiError(400, "Bad request", detail)


def missing(what: str) -> ApiError:
    """A thing that is not there."""
    return ApiError(404, "Not found", f"{what} does not exist.")

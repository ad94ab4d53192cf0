"""Errors as the API sends them."""

from marketplace.errors import Refused


class ApiError(Exception):
    """An error answer: type, message, HTTP status, and for errors of the service model the TurkErrorCode."""

    def __init__(self, kind: str, message: str, *, status: int = 400, turk_code: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status
        self.turk_code = turk_code

    @property
    def code(self) -> str:
        """What is most precisely wrong, such as InsufficientFunds."""
        return self.turk_code.rpartition(".")[2] if self.kind == "RequestError" else self.kind

    def body(self) -> dict[str, str]:
        """What is sent, as JSON."""
        if not self.turk_code:
            return {"__type": self.kind, "message": self.message}
        return {"__type": self.kind, "Message": self.message, "TurkErrorCode": self.turk_code}


def request_error(message: str, code: str, *, milliseconds: int) -> ApiError:
    """A RequestError: what was asked cannot be done. Its message ends as Mechanical Turk's do, with the time."""
    return ApiError("RequestError", f"{message} ({milliseconds})", turk_code=f"AWS.MechanicalTurk.{code}")


def refusal(refused: Refused, *, milliseconds: int) -> ApiError:
    """A refused service call as a RequestError."""
    return request_error(str(refused), refused.code, milliseconds=milliseconds)


def service_fault(message: str = "The service could not process this request. Try again.") -> ApiError:
    """A ServiceFault: our fault, perhaps passing."""
    return ApiError("ServiceFault", message, status=500, turk_code="AWS.ServiceUnavailable")


def throttled() -> ApiError:
    """Too many requests."""
    return ApiError("ThrottlingException", "Rate exceeded")


def serialization_error(message: str) -> ApiError:
    """The body is not JSON, or a value has the wrong type."""
    return ApiError("SerializationException", message)


def validation_error(problems: list[str]) -> ApiError:
    """Values break the constraints of the service model."""
    noun = "error" if len(problems) == 1 else "errors"
    return ApiError("ValidationException", f"{len(problems)} validation {noun} detected: {'; '.join(problems)}")

"""What the marketplace refuses, and why. Pages show the sentence; the API adds Mechanical Turk's code for it."""


class Refused(Exception):
    """The request cannot be done. The message is a sentence for people; `code` follows AWS.MechanicalTurk."""

    code = "RequestError"


class DoesNotExist(Refused):
    """No such thing, or none that this requester may see."""

    def __init__(self, what: str, entity_id: str) -> None:
        super().__init__(f"{what} {entity_id} does not exist.")
        self.code = f"{what.replace(' ', '')}DoesNotExist"


class WrongState(Refused):
    """The thing is in a state that does not allow this. Sent in the words that Mechanical Turk used."""

    def __init__(self, what: str, *allowed: str, because: str = "") -> None:
        text = f"This operation can be called with a status of: {','.join(allowed)}"
        super().__init__(f"{text}. {because}" if because else text)
        self.code = f"Invalid{what.replace(' ', '')}State"


class InsufficientFunds(Refused):
    """The requester cannot pay for this."""

    code = "InsufficientFunds"


class AlreadyDone(Refused):
    """The unique request token was used before."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class InvalidValue(Refused):
    """A value, or values together, that the documentation does not allow."""

    code = "InvalidParameterValue"


class InvalidQuestion(Refused):
    """The question is not XML that the marketplace takes."""

    code = "XMLParseError"


class Unsupported(Refused):
    """Something that Mechanical Turk had and this marketplace has not."""

    code = "UnsupportedOperation"


class InvalidIncrease(Refused):
    """More assignments than may be added."""

    code = "InvalidMaximumAssignmentsIncrease"


class NameTaken(Refused):
    """The requester has a qualification type of this name."""

    code = "QualificationTypeAlreadyExists"


class NotAllowed(Refused):
    """This worker may not do that: not qualified, blocked, suspended, or another's."""

    code = "PermissionDenied"


class NothingLeft(Refused):
    """The HIT has no place for another worker, or no longer takes any."""

    code = "NoHITsAvailable"


class TooLate(Refused):
    """The time for this is over."""

    code = "AssignmentDeadlinePassed"

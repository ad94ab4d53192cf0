"""An extension beside the API, at `POST /extensions/count-workers`: how many workers could take a HIT.

It changes nothing, and answers with two numbers.
"""

from typing import Any

from marketplace.api.extensions import extension
from marketplace.api.shapes import member_read, operation
from marketplace.errors import InvalidValue
from marketplace.models import AccessKey
from marketplace.requirements import MOST_REQUIREMENTS, requirement_read
from marketplace.selectors.reach import reach_of
from marketplace.services.limits import COUNT_OF_WORKERS

MEMBER = "QualificationRequirements"


@extension("CountWorkers", COUNT_OF_WORKERS)
def count_workers(key: AccessKey, body: Any) -> dict[str, Any]:
    """Answer `{"QualifiedWorkers": …, "ActiveWorkers": …}` for the QualificationRequirements in the body."""
    model = operation("CreateHITType")
    assert model is not None
    requirements = member_read(model, MEMBER, body)
    if len(requirements) > MOST_REQUIREMENTS:
        raise InvalidValue(f"At most {MOST_REQUIREMENTS} {MEMBER}, not {len(requirements)}.")
    reach = reach_of(key.requester, [requirement_read(requirement) for requirement in requirements])
    return {"QualifiedWorkers": reach.qualified, "ActiveWorkers": reach.active}

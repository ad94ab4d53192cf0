"""The double of Prolific in tests.

The fixture `prolific` is a `control.Double`:

    def test_…(prolific: Double) -> None:
        prolific.api, prolific.token           # the API's address (…/api/v1), and what Authorization: Token … carries
        prolific.url                           # the participants' site; codes come to /submissions/complete?cc=CODE
        pat = prolific.participant("Pat", country="0")
        place = prolific.take(study_id, pat)   # place.submission is SESSION_ID, place.url what the browser opens
        prolific.complete(place.submission, "CODE")  # or None: without a code
        prolific.fault("lost after", path="/pay/")   # faults.KINDS
        prolific.ledger("bonus")               # every cent that moved
        prolific.requests("/pay/")             # what was asked of it
"""

from .control import TOKEN, Double, Place

__all__ = ["TOKEN", "Double", "Place"]

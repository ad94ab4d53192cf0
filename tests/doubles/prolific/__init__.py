"""A double of Prolific: its API, a participants' site, and faults by command, over HTTP from a process of its own.

In a test, the fixture `prolific` is a `control.Double`:

    def test_…(prolific: Double) -> None:
        prolific.api, prolific.token           # the API's address (…/api/v1), and what Authorization: Token … carries
        prolific.url                           # the participants' site; codes come to /submissions/complete?cc=CODE
        pat = prolific.participant("Pat", country="0")
        place = prolific.take(study_id, pat)   # place.submission is SESSION_ID, place.url what the browser opens
        prolific.complete(place.submission, "CODE")  # or None: without a code
        prolific.fault("lost after", path="/pay/")   # faults.KINDS
        prolific.ledger("bonus")               # every cent that moved
        prolific.requests("/pay/")             # what was asked of it

By hand: `python -m tests.doubles.prolific --port 9000 --database /tmp/prolific.sqlite3 --token secret`. Nothing of the
site is imported here.

Every request and answer is checked by `description.yml`, and by Prolific's own OpenAPI description where the folder of
`BESTKNOWN_DATA` has it: a wrong request is refused with 400 and what is wrong, a wrong answer of the double's own fails
the test that asked for it. It is stricter than Prolific in that fields which no description has are refused.

What nobody could look up is decided here, and may be otherwise at Prolific: how fees are rounded (for each payment,
half up), what an approval of an ACTIVE submission answers (400), that returning is possible while AWAITING REVIEW, the
ids of filters and of their choices, the default of `maximum_allowed_time` (twice the shortest), and that X-Timestamp
counts milliseconds.
"""

from .control import TOKEN, Double, Place

__all__ = ["TOKEN", "Double", "Place"]

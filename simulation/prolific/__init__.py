"""A double of Prolific: its API, a participants' site, and faults by command, over HTTP from a process of its own.

By hand: `python -m simulation.prolific --port 9000 --database /tmp/prolific.sqlite3 --token secret`. Nothing of the
site is imported here.

Every request and answer is checked by `description.yml`, and by Prolific's own OpenAPI description where the folder of
`BESTKNOWN_DATA` has it: a wrong request is refused with 400 and what is wrong, a wrong answer of the double's own fails
the test that asked for it. It is stricter than Prolific in that fields which no description has are refused.

What nobody could look up is decided here, and may be otherwise at Prolific: how fees are rounded (for each payment,
half up), what an approval of an ACTIVE submission answers (400), that returning is possible while AWAITING REVIEW, the
ids of filters and of their choices, the default of `maximum_allowed_time` (twice the shortest), and that X-Timestamp
counts milliseconds.
"""

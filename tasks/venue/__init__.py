"""A campaign at a venue that speaks the Mechanical Turk API.

`publishing` plans HITs, `outbox` makes the calls (as `calls` says how), `syncing` asks what was submitted, `arriving`
lets workers in, `reviewing` decides and pays, `ledger` adds up.
"""

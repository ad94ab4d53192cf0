"""A self-hosted marketplace that speaks the Mechanical Turk API, with its own process and database."""

import gc

# What its programs load stays, so the garbage collector, which would look through it again and again, comes less often.
gc.set_threshold(50_000, 20, 100)

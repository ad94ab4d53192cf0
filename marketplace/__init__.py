"""A self-hosted marketplace that speaks the Mechanical Turk API, with its own process and database."""

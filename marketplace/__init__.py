"""A self-hosted marketplace that speaks the Mechanical Turk requester API: its own process, settings and database."""

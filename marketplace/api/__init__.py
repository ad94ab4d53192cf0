"""The requester API: JSON 1.1 over POST /."""

"""Publishing a campaign: what it would cost where, its start, halt and end, and other terms for it."""

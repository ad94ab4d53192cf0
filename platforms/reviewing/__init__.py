"""Deciding on submitted work, and paying for it."""

"""Test mode: a clock that can be moved, faults on order, a crowd on order. Nothing here answers without it."""

"""Keeping a board's best known answers current: challengers, small campaigns, versions, and entries scored on them."""

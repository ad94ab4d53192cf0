"""Bringing a database to this version while people work. The site and the marketplace share it."""

"""The software's version, as pyproject.toml has it."""

VERSION = "0.2.0"

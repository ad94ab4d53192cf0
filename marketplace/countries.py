"""Countries and their states and provinces, as ISO 3166 has them. Read on first use."""

from functools import cache

import pycountry
from django.utils.text import slugify


@cache
def countries() -> list[tuple[str, str]]:
    """Code and English name of every country, by name."""
    named = [(country.alpha_2, _name(country)) for country in pycountry.countries]
    return sorted(named, key=lambda row: slugify(row[1]))  # Åland is not last


def country_name(code: str) -> str | None:
    """The English name of a country; None if there is no country of this code."""
    country = pycountry.countries.get(alpha_2=code)
    return _name(country) if country else None


def is_subdivision(country: str, code: str) -> bool:
    """Whether a country has such a state or province: `WA` of `US`."""
    found = pycountry.subdivisions.get(code=f"{country}-{code}")  # type: ignore[no-untyped-call]
    return found is not None


def _name(country: pycountry.db.Country) -> str:
    """The everyday name, where the official one is another: Bolivia."""
    return str(getattr(country, "common_name", country.name))

"""Countries and their states and provinces, as ISO 3166 has them. Read on first use."""

import gettext
from functools import cache

import pycountry
from django.utils.text import slugify
from django.utils.translation import get_language, to_locale

_LOCALES = {"zh_Hans": "zh_CN"}  # what pycountry calls them


def countries() -> list[tuple[str, str]]:
    """Code and name of every country in the current language, by name."""
    return _countries(to_locale(get_language() or "en"))


@cache
def _countries(locale: str) -> list[tuple[str, str]]:
    catalogue = gettext.translation(
        "iso3166-1", pycountry.LOCALES_DIR, languages=[_LOCALES.get(locale, locale)], fallback=True
    )
    named = [(country.alpha_2, catalogue.gettext(_name(country))) for country in pycountry.countries]
    return sorted(named, key=lambda row: slugify(row[1]) or row[1])  # Åland is not last


def country_name(code: str) -> str | None:
    """The English name of a country; None if there is no country of this code."""
    country = pycountry.countries.get(alpha_2=code)
    return _name(country) if country else None


def is_subdivision(country: str, code: str) -> bool:
    """Whether a country has such a state or province: `WA` of `US`."""
    subdivision = pycountry.subdivisions.get(code=f"{country}-{code}")  # type: ignore[no-untyped-call]
    return subdivision is not None


def _name(country: pycountry.db.Country) -> str:
    """The everyday name, where the official one is another: Bolivia."""
    return str(getattr(country, "common_name", country.name))

"""Dates in pages that Django and allauth write, such as a passkey's: as on our own pages, with the month in letters."""

DATE_FORMAT = SHORT_DATE_FORMAT = "j M Y"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "j M Y, H:i"

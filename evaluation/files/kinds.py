"""The rules by which a value in a file becomes an id, a number, a grade or a text.

Values stay what their file says (text, a number, a truth value, nothing) until one of these rules takes them. Each
raises `Mistyped` with a sentence that names what the value should have been.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from evaluation.files.textfiles import ID_BYTES, quote_value

Value = str | int | float | bool | None

# Whole numbers up to here are exact as float64, and no other number rounds to one of them.
LARGEST = 2**53 - 1
_ID = re.compile(r"[^\x00-\x20]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
USUAL_DIGITS = 9
_GRADE = re.compile(r"([+-]?[0-9]{1,9})(?:\.0{0,20})?", re.ASCII)  # prefj.py writes whole grades as 106.0


class Mistyped(ValueError):
    """A value that is not of the type that its column has."""


def to_id(value: object, what: str) -> str:
    """An id: text without spaces or control characters, or a whole number. A float is one if it is whole."""
    if (
        type(value) is str
        and 0 < len(value) <= ID_BYTES
        and value.isascii()
        and value.isprintable()
        and " " not in value
    ):
        return value  # nearly all
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = _digits(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise Mistyped(f"no {what}: text or a whole number is needed.")
    if not isinstance(value, str):
        raise Mistyped(f"{what} {shown(value)} where an id is needed: text or a whole number.")
    if not _ID.fullmatch(value):
        raise Mistyped(f"{what} '{quote_value(value)}' where an id without spaces is needed.")
    size = len(_checked(value).encode())
    if size > ID_BYTES:
        raise Mistyped(f"a {what} of {size:,} bytes, where {ID_BYTES:,} are the most.")
    return value


def to_text(value: object, what: str) -> str | None:
    if type(value) is str and value.isascii() and "\0" not in value:
        return value  # nearly all
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not isinstance(value, str):
        raise Mistyped(f"{what} {shown(value)} where a text is needed.")
    return _checked(value)


def to_word(value: object, what: str) -> str:
    """What names a person, a time or a choice: text, or a number as text; empty where there is nothing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Mistyped(f"{what} {shown(value)} where a text or a finite number is needed.")
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _digits(value)
    if not isinstance(value, str):
        raise Mistyped(f"{what} {shown(value)} where a text is needed.")
    return _checked(value)


def to_score(value: object, what: str) -> float:
    """A finite number."""
    number = math.nan
    if isinstance(value, str):
        number = float(value) if _NUMBER.fullmatch(value.strip(" ")) else math.nan
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value) if abs(value) < 1e308 else math.nan
    if not math.isfinite(number):
        raise Mistyped(f"{what} {shown(value)} is not a finite number.")
    return number


def to_rank(value: object, what: str) -> int:
    """A whole number that is exact as float64."""
    number = to_score(value, what)
    if number != math.floor(number) or abs(number) > LARGEST:
        raise Mistyped(f"{what} {shown(value)} is not a whole number below 2^53.")
    return int(number)


def to_grade(value: object, what: str) -> int:
    """A whole number of at most nine digits; 106.0 is one."""
    if isinstance(value, str) and len(value) <= USUAL_DIGITS and value.isdecimal() and value.isascii():
        return int(value)
    text = value.strip(" ") if isinstance(value, str) else "" if isinstance(value, bool) else repr(value)
    whole = _GRADE.fullmatch(text) if len(text) < 40 else None
    if not whole:
        raise Mistyped(f"{what} {shown(value)} is not a whole number of at most nine digits.")
    return int(whole[1])


TYPES: dict[str, Callable[[object, str], object]] = {
    "id": to_id,
    "text": to_text,
    "word": to_word,
    "score": to_score,
    "rank": to_rank,
    "grade": to_grade,
}


def shown(value: object) -> str:
    if value is None:
        return "(nothing)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return "(an object)" if isinstance(value, dict) else "(a list)"
    return quote_value(_digits(value) if isinstance(value, int) else str(value))


def _digits(value: int) -> str:
    return str(value) if value.bit_length() < 10_000 else "(a number of thousands of digits)"


def _checked(text: str) -> str:
    """The text. JSON can hold by escapes what no file of text holds, and no database stores."""
    if "\0" in text:
        raise Mistyped("a NUL character (written as an escape).")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Mistyped("half a character (an unpaired surrogate, written as an escape).") from None
    return text

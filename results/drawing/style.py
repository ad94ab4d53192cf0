"""The look that all figures share: inks, sizes, names and numbers.

The two colours have a contrast of 3.5:1 and more on white and on the dark page, and are told apart by the colour-blind.
Nothing is said by colour alone.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

INK = "#000000"  # in an SVG, the colour of the text around it
RUN = "#17807a"
PERFECT = "#b06a00"
SIZE = 9  # points, which is 12 px
THIN = 0.8
ROW = 0.23  # inches
WIDTH = 4.6
LONGEST = 32  # characters of a name
PERFECT_NAME = "perfect ranking"
_UNWRITABLE = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}  # Unicode's controls and line breaks, and what is no character


def short_names(names: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Names to write on a figure: long ones lose their middle, as much as leaves them different from each other."""
    clean = [printable(name) for name in names]
    for length in range(longest, max(map(len, clean), default=0)):
        shorter = [_shorter(name, length) for name in clean]
        if max(Counter(shorter).values()) == 1:
            return shorter
    return clean


def printable(text: str) -> str:
    """The text with a replacement character for each that cannot be written, line breaks included."""
    return "".join("\ufffd" if unicodedata.category(sign) in _UNWRITABLE else sign for sign in text)


def _shorter(name: str, length: int) -> str:
    if len(name) <= length:
        return name
    tail = (length - 1) // 2
    return f"{name[: length - 1 - tail]}…{name[len(name) - tail :]}"


def percent(share: float) -> str:
    """A share in whole percent; what is not quite all or nothing does not become so."""
    if 0 < share < 0.005:
        return "<1%"
    if 0.995 <= share < 1:
        return ">99%"
    return f"{share:.0%}"


def mean_and_interval(mean: float, t: Sequence[float | None] | None) -> str:
    """A mean with its 95% interval, where there is one."""
    return f"{mean:.3f}" if t is None or None in t else f"{mean:.3f}, 95% interval {t[0]:.3f} to {t[1]:.3f},"


def counted(number: int, singular: str, many: str) -> str:
    return f"{number:,} {singular if number == 1 else many}"

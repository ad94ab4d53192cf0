"""The ethics summary as a PDF."""

from pathlib import Path

import matplotlib as mpl
from django.http import HttpResponse
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import get_language_info
from django.utils.translation import gettext as _
from fontTools.ttLib import TTFont
from fpdf import FPDF
from fpdf.enums import Align

from core.errors import Refused
from pools.models import Campaign
from protection.ethics import Summary, ethics_summary

FONTS = Path(mpl.get_data_path()) / "fonts" / "ttf"  # DejaVu Sans: Latin, Greek, Cyrillic, Arabic and Hebrew


# Marks of direction, which fonts do not draw; shaping finds directions by itself.
_MARKS = dict.fromkeys((0x200E, 0x200F, *range(0x2066, 0x206A)))


class _Sheets(FPDF):
    """Numbers its pages, so that a board can tell whether one is missing."""

    def footer(self) -> None:
        self.set_y(-15)
        self.set_font("DejaVu", "", 8)
        text = _("Page %(page)s of %(pages)s") % {"page": self.page_no(), "pages": self.str_alias_nb_pages}
        self.cell(0, 5, text, align=Align.R)


class NoGlyphs(Refused):
    """The PDF's font lacks characters of the texts."""


def ethics_pdf(summary: Summary) -> bytes:
    """The summary, on A4 pages, with texts shaped and ordered as their scripts ask for.

    Raises NoGlyphs for scripts that the font does not have, as Chinese: the page can be printed instead.
    """
    _check(summary)
    pdf = _Sheets(format="A4")
    pdf.set_title(_("Ethics summary: %(name)s") % {"name": summary.campaign.name})
    pdf.set_creation_date(summary.at)
    pdf.set_margin(22)
    pdf.set_auto_page_break(True, 22)
    pdf.add_font("DejaVu", "", FONTS / "DejaVuSans.ttf")
    pdf.add_font("DejaVu", "B", FONTS / "DejaVuSans-Bold.ttf")
    pdf.set_text_shaping(True)
    pdf.add_page()
    _write(pdf, _("Ethics summary"), size=18, style="B")
    _write(pdf, f"{summary.at:%Y-%m-%d %H:%M} UTC", size=9)
    for part in summary.parts:
        pdf.ln(3)
        _write(pdf, part.heading, size=12, style="B")
        for paragraph in part.paragraphs:
            _write(pdf, paragraph)
        if part.words:
            pdf.set_left_margin(28)
            _write(pdf, part.words, right_to_left=_is_right_to_left(part.lang))
            pdf.set_left_margin(22)
    return bytes(pdf.output())


def ethics_response(campaign: Campaign) -> HttpResponse:
    """The PDF of a campaign as a download. Raises NoGlyphs as ethics_pdf does."""
    response = HttpResponse(ethics_pdf(ethics_summary(campaign, timezone.now())), content_type="application/pdf")
    response["Content-Disposition"] = f'attachment; filename="ethics-{slugify(campaign.name) or campaign.pk}.pdf"'
    return response


def _write(pdf: FPDF, text: str, *, size: float = 10, style: str = "", right_to_left: bool = False) -> None:
    pdf.set_font("DejaVu", style, size)
    pdf.set_x(pdf.l_margin)
    align = Align.R if right_to_left else Align.L
    pdf.multi_cell(0, size * 0.55, text.translate(_MARKS), align=align, new_x="LMARGIN", new_y="NEXT")
    pdf.ln(1)


def _is_right_to_left(lang: str) -> bool:
    try:
        return bool(get_language_info(lang.lower())["bidi"]) if lang else False
    except KeyError:
        return False


def _check(summary: Summary) -> None:
    texts = [text for part in summary.parts for text in (part.heading, *part.paragraphs, part.words)]
    texts = [text.translate(_MARKS) for text in texts]
    with TTFont(FONTS / "DejaVuSans.ttf", lazy=True) as font:
        codes = set(font.getBestCmap())
    missing = sorted(
        {character for text in texts for character in text if character not in "\n\r\t"} - set(map(chr, codes))
    )
    if missing:
        raise NoGlyphs(
            _(
                "The PDF's font does not have these characters: %(characters)s. Print the page from your browser "
                "instead, to paper or as a PDF."
            )
            % {"characters": " ".join(missing[:10])}
        )

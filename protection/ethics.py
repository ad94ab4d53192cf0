"""What a review board asks about a campaign: what workers read, do and are paid, and what becomes of their data."""

from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.html import strip_tags
from django.utils.translation import get_language, ngettext, override
from django.utils.translation import gettext as _

from core.languages import language_of
from core.money import counted
from core.version import VERSION
from judgments.pages.example import worked_example
from platforms.models import Publication
from platforms.money.bills import campaign_bill
from platforms.publishing.offers import work_hours
from platforms.terms import publication_likely
from pools.models import Campaign
from pools.practice import practice_pairs_of, right_needed
from pools.wording import default_words
from protection.models import Retention
from tasks import selectors as task_selectors
from tasks.consent import default_consent
from tasks.practice import practice_minutes


class Part(NamedTuple):
    """A heading and what is said under it. `words` are shown to workers as they are, in `lang`."""

    heading: str
    paragraphs: list[str]
    words: str = ""
    lang: str = ""


class Summary(NamedTuple):
    campaign: Campaign
    at: datetime
    parts: list[Part]


def ethics_summary(campaign: Campaign, at: datetime) -> Summary:
    """The summary of a campaign in any state, by its settings now."""
    consent = task_selectors.current_consent(campaign)
    lang = campaign.language
    with override(language_of(lang) if lang else get_language()):
        title, question = default_words(campaign.title, lang), default_words(campaign.question, lang)
        instructions, example = campaign.instructions or _usual_instructions(), _example(campaign)
    return Summary(
        campaign,
        at,
        [
            Part(_("The study"), _study(campaign)),
            Part(_("What workers do"), _work(campaign)),
            Part(_("Pay"), _pay(campaign)),
            Part(_("Title, as workers read it"), [], title, lang),
            Part(_("Question, as workers read it above every two passages"), [], question, lang),
            Part(_("Instructions, as workers read them"), [], instructions, lang),
            Part(_("The worked example"), [], example, lang),
            Part(
                _("Consent, as workers read it"),
                [
                    _("Version %(version)d. A record of who agreed to it, and when, is kept.")
                    % {"version": consent.version if consent else 1}
                ],
                consent.text if consent else default_consent(campaign),
                lang,
            ),
            Part(_("Hidden test pairs"), _tests(campaign)),
            Part(_("What is stored, and for how long"), [*_data(), *_periods(campaign)]),
            Part(_("How to stop, and how to object"), _objecting(campaign)),
        ],
    )


def _study(campaign: Campaign) -> list[str]:
    person = campaign.created_by
    responsible = campaign.lab.name
    if person is not None:
        name = person.get_full_name() or person.get_username()
        responsible = f"{responsible}, {name}" + (f", {person.email}" if person.email else "")
    return [
        _("“%(campaign)s”, over the test collection %(collection)s.")
        % {"campaign": campaign.name, "collection": campaign.collection.name},
        _("Responsible: %(who)s.") % {"who": responsible},
        _("The campaign is “%(state)s”. Software: Bestknown %(version)s.")
        % {"state": campaign.get_state_display(), "version": VERSION},
    ]


def _work(campaign: Campaign) -> list[str]:
    bill, pace = campaign_bill(publication_likely(campaign)), task_selectors.expected_pace(campaign)
    lines = [
        _(
            "A worker reads a question and two passages, and says which passage answers it better. A task has up to "
            "%(items)s (hidden test pairs among them: %(tests)d), and must be finished within %(limit)s. Each "
            "comparison is judged by %(people)s."
        )
        % {
            "items": ngettext("%(n)d such comparison", "%(n)d such comparisons", campaign.items_per_hit)
            % {"n": campaign.items_per_hit},
            "tests": campaign.tests_per_hit,
            "limit": _minutes(campaign.minutes_per_hit),
            "people": ngettext("%(n)d person", "%(n)d different people", campaign.overlap) % {"n": campaign.overlap},
        },
        _("%(hits)s, %(assignments)s.")
        % {
            "hits": ngettext("%(n)s task", "%(n)s tasks", bill.hits) % {"n": counted(bill.hits)},
            "assignments": ngettext("%(n)s assignment", "%(n)s assignments", bill.assignments)
            % {"n": counted(bill.assignments)},
        },
    ]
    if (hours := work_hours(bill, pace)) is not None and pace is not None:
        lines.append(
            _("A task takes about %(minutes)s, and all of the work about %(hours)s hours.")
            % {"minutes": _minutes(pace.minutes), "hours": hours}
        )
    return lines + _practice(campaign)


def _minutes(count: float) -> str:
    return ngettext("%(n)d minute", "%(n)d minutes", round(count)) % {"n": count}


def _practice(campaign: Campaign) -> list[str]:
    """What workers do before their first task, and whom that keeps from it."""
    pairs = practice_pairs_of(campaign)
    if not pairs:
        return []
    facts = {"count": len(pairs), "minutes": _minutes(practice_minutes(campaign)), "needed": right_needed(campaign)}
    lines = [
        ngettext(
            "Before the first task, a worker compares %(count)d practice pair, and is then told which passage is "
            "better, and why. This takes about %(minutes)s and is not paid separately. The answer is not used as data.",
            "Before the first task, a worker compares %(count)d practice pairs, and is told after each which passage "
            "is better, and why. This takes about %(minutes)s and is not paid separately. The answers are not used "
            "as data.",
            len(pairs),
        )
        % facts
    ]
    if campaign.practice == Campaign.Practice.OPTIONAL:
        lines.append(_("Workers can skip it."))
    if campaign.practice == Campaign.Practice.CHECK:
        text = _(
            "It is a comprehension check: %(needed)d of the %(count)d answers must be right, and there is a second "
            "try. Whoever does not pass gets no task and is not paid, and is told so before they begin."
        )
        lines.append(text % facts)
    return lines


def _pay(campaign: Campaign) -> list[str]:
    pace = task_selectors.expected_pace(campaign)
    lines = [
        _("%(reward)s for a whole task. Whoever leaves early is owed a share, in proportion to the answers given.")
        % {"reward": campaign.money(campaign.reward)}
    ]
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is not None:
        lines.append(
            _("Workers come from %(platform)s, where %(listed)s is listed (%(pay)s).")
            % {
                "platform": publication.get_platform_display(),
                "listed": campaign.money(publication.listed),
                "pay": publication.get_pay_display(),
            }
        )
    else:
        lines.append(_("Workers come by a link, or are members of a panel."))
    if pace is None:
        return [*lines, _("What that pays an hour is not known yet, as the passages have no texts.")]
    how = (
        ngettext(
            "the time of %(count)d finished assignment",
            "the median time of %(count)d finished assignments",
            pace.measured,
        )
        % {"count": pace.measured}
        if pace.measured
        else _("the words to read, at a usual reading speed, and a moment for each choice")
    )
    lines.append(
        _("That is %(hourly)s an hour: %(reward)s × 60 ÷ %(minutes)s. The time comes from %(how)s.")
        % {
            "hourly": campaign.money(pace.hourly),
            "reward": campaign.money(campaign.reward),
            "minutes": _minutes(pace.minutes),
            "how": how,
        }
    )
    if pace.practice:
        text = _("With practice, the first task takes about %(minutes)s, and pays %(hourly)s an hour.")
        lines.append(
            text % {"minutes": _minutes(pace.minutes + pace.practice), "hourly": campaign.money(pace.first_hourly)}
        )
    floor = _("It is below the site's floor of %(floor)s an hour.") if pace.is_low else ""
    return [*lines, floor % {"floor": campaign.money(pace.floor)}] if floor else lines


def _usual_instructions() -> str:
    page = render_to_string("judgments/pages/parts.html#usual_instructions")
    return "\n".join(line.strip() for line in strip_tags(page).splitlines() if line.strip())


def _example(campaign: Campaign) -> str:
    example = worked_example(campaign)
    return "\n\n".join([example["question"], f"A: {example['left']}", f"B: {example['right']}", example["why"]])


def _tests(campaign: Campaign) -> list[str]:
    excluded = campaign.get_exclusion_display()
    return [
        _(
            "Each task hides %(tests)d comparisons with a known answer: a relevant passage against one that is "
            "obviously about something else. The consent text says so. Work that misses one is not used (%(what)s), "
            "and the worker gets no more tasks of this lab. Work is paid all the same, unless a person decides "
            "otherwise and says why."
        )
        % {"tests": campaign.tests_per_hit, "what": excluded}
    ]


def _data() -> list[str]:
    return [
        _(
            "Stored are each choice, when the comparison was shown and when the choice was made, which consent text "
            "was agreed to and when, and what is owed and paid. No name, address or demographic data are asked for. "
            "Of workers from a platform, their id there is stored, to pay them; of panel members, the name or address "
            "that they were invited with. The address that a task was opened from is stored as a keyed digest only. "
            "What workers choose to write is stored, too: messages, and notes on a pair or on a decision."
        ),
        _(
            "Exports and publications carry pseudonyms, made with a secret key of this campaign, and nothing else that "
            "says who worked."
        ),
        _("The data are on the server at %(site)s.") % {"site": settings.SITE_URL},
    ]


def _periods(campaign: Campaign) -> list[str]:
    """How long each is kept, by the lab's periods and the site's."""
    retention = Retention.objects.filter(lab=campaign.lab_id).first() or Retention()
    if retention.worker_days is None:
        identities = _(
            "Who a worker is (ids at platforms, names of panel members, what they wrote) is kept until somebody of the "
            "lab erases it, which a worker can ask for at any time: no period is set after which it goes by itself."
        )
    else:
        identities = ngettext(
            "Who a worker is (ids at platforms, names of panel members, what they wrote) is erased by itself %(days)d "
            "day after their last work, and earlier if they ask for it.",
            "Who a worker is (ids at platforms, names of panel members, what they wrote) is erased by itself %(days)d "
            "days after their last work, and earlier if they ask for it.",
            retention.worker_days,
        ) % {"days": retention.worker_days}
    lines = [
        identities
        + " "
        + _(
            "It is never erased before all their campaigns are closed and everything is paid, so that they can be paid."
        ),
        _(
            "Judgments, consents, decisions and payments are kept under pseudonyms, so that results can be checked, "
            "until the whole campaign is erased."
        ),
    ]
    audit = [days for days in (retention.audit_days, settings.AUDIT_KEEP_DAYS) if days]
    if audit:
        lines.append(
            ngettext(
                "A record of what members of the lab did, which names no worker, is kept for %(days)d day.",
                "A record of what members of the lab did, which names no worker, is kept for %(days)d days.",
                min(audit),
            )
            % {"days": min(audit)}
        )
    return lines


def _objecting(campaign: Campaign) -> list[str]:
    person = campaign.created_by
    lines = [
        _(
            "Taking part is voluntary. A worker can leave at any time, from every page, and is paid for the answers "
            "given."
        ),
        _(
            "Every finished task has a receipt with a code, which names the work if there is a question about it. A "
            "person of the lab can take back each decision about work, with a reason that is kept."
        ),
    ]
    if person is not None and person.email:
        lines.append(_("Contact: %(email)s.") % {"email": person.email})
    return lines

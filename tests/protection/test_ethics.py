"""What a review board gets: word by word what workers read, pay and its reckoning, and data; as a page and a PDF."""

import zlib

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from core.models import User
from pools import services as pool_services
from pools.models import Campaign
from protection.erasing import retention_set
from runs.models import Collection
from tasks import selectors as task_selectors
from tasks import services as task_services
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem


@pytest.fixture
def draft(collection: Collection) -> Campaign:
    """A draft in the usual words."""
    return factories.campaign(collection, "draft", tests=3, start=False)


def test_the_summary_says_what_workers_read_and_how_pay_follows(client: Client, rita: User, draft: Campaign) -> None:
    client.force_login(rita)
    address = reverse("protection:ethics", args=[draft.pk])
    page = client.get(address).content.decode()
    pace = task_selectors.expected_pace(draft)
    assert pace is not None
    for words in (
        draft.title,
        draft.question,
        "Read the question, then both passages to the end.",
        "You are invited to take part in a study by",
        f"${pace.hourly:,.2f} an hour: $2.00 × 60 ÷ {pace.minutes} minutes",
        "Responsible: Rita's lab",
        "can leave at any time",
        "only B says how long",
    ):
        assert escape(words) in page, words
    pool_services.campaign_reword(campaign=draft, title="Eggs", question="Which egg?", instructions="Boil them.")
    task_services.consent_write(campaign=draft, text="I agree to eggs.")
    page = client.get(address).content.decode()
    assert "Boil them." in page and "I agree to eggs." in page and "Which egg?" in page
    assert "Read the question, then both" not in page
    client.force_login(factories.user("sam"))
    assert client.get(address).status_code == 404


def test_the_summary_says_for_how_long_the_labs_periods_keep_what(client: Client, rita: User, draft: Campaign) -> None:
    client.force_login(rita)
    address = reverse("protection:ethics", args=[draft.pk])
    page = client.get(address).text
    assert "no period is set after which it goes by itself" in page
    assert "names no worker, is kept for 1095 days" in page
    assert "messages, and notes on a pair" in page
    retention_set(lab=draft.lab, worker_days=90, audit_days=365)
    page = client.get(address).text
    assert "is erased by itself 90 days after their last work" in page
    assert "names no worker, is kept for 365 days" in page
    assert "no period is set" not in page


def test_the_pdf_holds_the_summary_in_latin_and_arabic_and_says_where_it_cannot(
    client: Client, rita: User, draft: Campaign
) -> None:
    client.force_login(rita)
    address = reverse("protection:ethics_file", args=[draft.pk])
    answer = client.get(address)
    assert answer["Content-Type"] == "application/pdf"
    plain = answer.content
    assert plain.startswith(b"%PDF-") and plain.count(b"/Type /Page\n") >= 1
    assert len(zlib.compress(plain)) > 5_000
    Campaign.objects.filter(pk=draft.pk).update(language="ar", question="أي المقطعين يجيب عن السؤال بشكل أفضل؟")
    arabic = client.get(address)
    assert arabic.status_code == 200 and arabic.content != plain
    Campaign.objects.filter(pk=draft.pk).update(language="zh", question="哪一段更好地回答了问题？")
    chinese = client.get(address)
    assert chinese.status_code == 409
    assert "Print the page from your browser instead" in chinese.content.decode()
    assert "哪一段更好地回答了问题" in client.get(reverse("protection:ethics", args=[draft.pk])).content.decode()


def test_a_program_downloads_the_pdf(rita: User, draft: Campaign) -> None:
    address = f"campaigns/{draft.pk}/ethics/summary.pdf"
    answer = Program(rita, "read").get(address)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/pdf")
    assert answer.content.startswith(b"%PDF-") and "ethics-draft.pdf" in answer["Content-Disposition"]
    assert_problem(Program(factories.user("sam")).get(address), 404)
    Campaign.objects.filter(pk=draft.pk).update(question="哪一段更好地回答了问题？")
    assert_problem(Program(rita).get(address), 409)

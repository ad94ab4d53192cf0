"""Trials: the workers' own pages on a campaign's pairs, of which nothing is stored."""

import json
import re
from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.core import signing
from django.test import Client
from django.urls import reverse

from core.models import User
from pools import services as pool_services
from pools.models import Campaign
from runs.models import Collection
from tasks import trials
from tests import factories

SAYS_SO = "Trial: nothing is stored."


@pytest.fixture
def draft(collection: Collection) -> Campaign:
    """A draft with pairs and two test pairs."""
    return factories.campaign(collection, "draft", tests=2, start=False, tests_per_hit=2, pairs_per_hit=3)


def rows() -> dict[str, int]:
    """How many rows each table has."""
    return {model._meta.label: model._base_manager.count() for model in apps.get_models() if model is not Session}


def follow(browser: Client, address: str) -> str:
    """A page of a trial, which says that it is one."""
    answer = browser.get(address)
    assert answer.status_code == 200, address
    assert SAYS_SO in answer.content.decode()
    return answer.content.decode()


def begin(browser: Client, trial: trials.Trial) -> str:
    """Go from the link to the first comparison; its address."""
    preview = follow(browser, reverse("judging:preview", args=[trial.token]))
    consent = follow(browser, reverse("judging:join", args=[trial.token]))
    assert "Agree and begin" in consent
    assert "An example" in preview
    begun = browser.post(reverse("judging:join", args=[trial.token]), {"version": "1"})
    instructions = follow(browser, begun["Location"])
    return re.search(r'class="button primary" href="([^"]+)"', instructions)[1]


def shown_in(page: str) -> str:
    return re.search(r'name="shown" value="([^"]+)"', page)[1]


def test_a_whole_walk_stores_no_row_anywhere(client: Client, draft: Campaign) -> None:
    before, browser = rows(), Client()
    address = begin(browser, trials.trial_link(draft))
    token = address.split("/")[2]
    for position in range(1, 6):
        page = follow(browser, reverse("judging:item", args=[token, position]))
        assert f"{position} of 5" in page
        if position % 2:  # as the script says it, and as the form does without one
            answer = browser.post(
                reverse("judging:save", args=[token, position]),
                json.dumps({"preferred": "left", "shown": shown_in(page)}),
                content_type="application/json",
            )
            assert answer.json() == {
                "saved": True, "preferred": "left", "answered": position, "total": 5, "owed": f"${0.40 * position:.2f}",
            }  # fmt: skip
        else:
            answer = browser.post(
                reverse("judging:item", args=[token, position]), {"preferred": "right", "shown": shown_in(page)}
            )
            assert answer.status_code == 303
    back = follow(browser, reverse("judging:item", args=[token, 2]))
    assert 'data-preferred="right"' in back
    report = reverse("judging:report", args=[token, 2])
    assert "What is wrong?" in follow(browser, report)
    assert browser.post(report, {"reason": "broken"})["Location"] == reverse("judging:item", args=[token, 3])
    assert "You reported this pair" in follow(browser, reverse("judging:item", args=[token, 2]))
    assert "All answered" in follow(browser, reverse("judging:finish", args=[token]))
    sent = browser.post(reverse("judging:finish", args=[token]))
    receipt = follow(browser, sent["Location"])
    assert "TRIAL-ONLY" in receipt
    assert "You answered 5 of 5 questions." in receipt
    assert browser.get(reverse("judging:item", args=[token, 1]))["Location"] == sent["Location"]
    home = follow(browser, reverse("judging:home", args=[token]))
    assert "$2.00" in home
    again = browser.post(reverse("judging:take", args=[token]))
    assert "Begin" in follow(browser, again["Location"])
    assert rows() == before


def test_leaving_a_trial_shows_the_share(client: Client, draft: Campaign) -> None:
    before = rows()
    address = begin(client, trials.trial_link(draft))
    token, page = address.split("/")[2], follow(client, address)
    client.post(address, {"preferred": "left", "shown": shown_in(page)})
    assert "You are paid $0.40 for them." in follow(client, reverse("judging:leave", args=[token]))
    left = client.post(reverse("judging:leave", args=[token]))
    assert "You have left this task" in follow(client, left["Location"])
    refused = client.post(reverse("judging:save", args=[token, 2]), {}, content_type="application/json")
    assert refused.status_code == 400
    assert "No, thank you" in client.get(reverse("judging:join", args=[token])).content.decode()
    follow(client, reverse("judging:declined", args=[token]))
    assert rows() == before


def test_a_trial_shows_pairs_of_different_queries_and_the_campaigns_test_pairs(draft: Campaign) -> None:
    items = trials.trial_items(draft)
    pairs = [item.pair for item in items if item.pair]
    assert len(pairs) == 3
    assert draft.pools.filter(pairs__in=pairs).distinct().count() == 3
    assert {item.test for item in items if item.test} == set(draft.test_pairs.values_list("id", flat=True))
    assert trials.trial_items(draft) == items


def test_what_is_on_trial_is_the_same_once_the_campaign_is_open(client: Client, draft: Campaign) -> None:
    items = trials.trial_items(draft)
    factories.begin(draft)
    before = rows()
    assert trials.trial_items(draft) == items
    begin(client, trials.trial_link(draft))
    assert rows() == before


def test_words_are_tried_before_they_are_saved(client: Client, rita: User, draft: Campaign) -> None:
    client.force_login(rita)
    words = {
        "words-title": "Quite another title",
        "words-question": "Which is funnier?",
        "words-instructions": "Laugh.",
    }
    page = client.post(reverse("tasks:trial_of_wording", args=[draft.pk]), words).content.decode()
    assert "You see wording that is not saved." in page
    browser = Client()
    link = re.search(r'<iframe[^>]* src="([^"]+)"', page)[1]
    assert "Quite another title" in follow(browser, link)
    begun = browser.post(link + "consent/", {"version": "1"})
    assert "Laugh." in follow(browser, begun["Location"])
    consent = client.post(reverse("tasks:trial_of_wording", args=[draft.pk]), {"consent-text": "Only if you like."})
    link = re.search(r'<iframe[^>]* src="([^"]+)"', consent.content.decode())[1]
    assert "Only if you like." in follow(browser, link + "consent/")
    draft.refresh_from_db()
    assert draft.title == "Compare answers to questions"
    assert not draft.consent_texts.exists()


def test_a_revoked_link_and_what_began_with_it_no_longer_work(client: Client, rita: User, draft: Campaign) -> None:
    link = trials.trial_link(draft)
    address, browser = begin(client, link), Client()
    client.force_login(rita)
    client.post(reverse("tasks:trials_revoke", args=[draft.pk]))
    assert browser.get(address).status_code == 410
    assert browser.get(reverse("judging:preview", args=[link.token])).status_code == 410
    assert "revoked" in browser.get(address).content.decode()
    draft.refresh_from_db()
    follow(browser, reverse("judging:preview", args=[trials.trial_link(draft).token]))


def test_a_link_expires_and_cannot_be_made_up(client: Client, draft: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    link = trials.trial_link(draft).token
    real = signing.time.time
    monkeypatch.setattr(signing.time, "time", lambda: real() + (trials.LASTS + timedelta(hours=1)).total_seconds())
    assert client.get(reverse("judging:preview", args=[link])).status_code == 410
    assert client.get("/c/try.made-up/").status_code == 404
    assert client.get("/j/try.made-up/1/").status_code == 404
    saved = client.post("/j/try.made-up/1/save/", {"preferred": "left", "shown": "x"}, content_type="application/json")
    assert saved.status_code == 404


def test_visits_that_begin_visits_end_with_their_link(
    client: Client, draft: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, real, hours = trials.trial_link(draft).token, signing.time.time, 0
    monkeypatch.setattr(signing.time, "time", lambda: real() + 3600 * hours)
    while (begun := client.post(reverse("judging:join", args=[token]))).status_code != 410:
        token = begun.headers["Location"].split("/")[2]
        hours += 20  # a visit lasts a day
    assert 14 * 24 < hours < 15 * 24


def test_a_trial_of_pairs_that_are_gone_says_to_begin_again(client: Client, draft: Campaign) -> None:
    address = begin(client, trials.trial_link(draft))
    pool_services.campaign_compare_texts(campaign=draft)
    gone = client.get(address)
    assert gone.status_code == 410
    assert "The campaign has changed since this trial began." in gone.content.decode()


def test_a_trial_needs_pairs_with_texts(client: Client, rita: User, draft: Campaign) -> None:
    draft.collection.passages.update(text="")
    client.force_login(rita)
    page = client.get(reverse("tasks:trial", args=[draft.pk])).content.decode()
    assert "no pair has the texts of both its passages" in page
    assert "<iframe" not in page
    refused = client.post(reverse("judging:join", args=[trials.trial_link(draft).token]))
    assert refused.status_code == 409


def test_only_the_site_itself_frames_a_trial(client: Client, draft: Campaign) -> None:
    answer = client.get(reverse("judging:preview", args=[trials.trial_link(draft).token]))
    assert "frame-ancestors http://testserver" in answer["Content-Security-Policy"]
    assert "X-Frame-Options" not in answer


def test_a_trial_says_to_whoever_may_change_the_test_pairs_which_of_them_they_failed(
    draft: Campaign, rita: User
) -> None:
    def ended(browser: Client) -> str:
        """Choose the off-topic passage of the first test pair, and the relevant one of the other; the receipt."""
        token = begin(browser, trials.trial_link(draft)).split("/")[2]
        items, failed = trials.trial_of(token).items, False
        for position, item in enumerate(items, 1):
            side = "left" if item.a_left else "right"
            if item.test is not None and not failed:
                side, failed = "right" if item.a_left else "left", True
            page = follow(browser, reverse("judging:item", args=[token, position]))
            sent = {"preferred": side, "shown": shown_in(page)}
            assert browser.post(reverse("judging:item", args=[token, position]), sent).status_code == 303
        browser.post(reverse("judging:finish", args=[token]))
        return follow(browser, reverse("judging:done", args=[token]))

    signed_in, colleague = Client(), Client()
    signed_in.force_login(rita)
    first = next(item for item in trials.trial_items(draft) if item.test is not None)
    question = draft.test_pairs.get(pk=first.test).question
    text = ended(signed_in)
    assert "Test pairs that you failed" in text and text.count(f"{question}</span>") == 1
    assert "Test pairs that you failed" not in ended(colleague)

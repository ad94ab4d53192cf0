"""A lab's people: invited, given roles, removed; and how somebody logs in and keeps an account safe."""

import os
import re
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal import auth
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.db.models.functions import Upper
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from core import people
from core.comparing import ComparedField, ComparedModel, ComparedQuerySet
from core.errors import NotYours, Refused
from core.labs import lab_rename
from core.models import AuditEntry, Lab, MemberInvitation, User
from tests import factories
from tests.looking import DESK, looks_right

PASSWORD = "four quiet cellos"
JOINING = {"username": "nora", "email": "nora@example.org", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def agnes(lab: Lab) -> User:
    """The admin of Rita's lab."""
    return factories.member(lab, "admin", "agnes")


def invite(lab: Lab, by: User, role: str = "researcher", email: str = "") -> MemberInvitation:
    return people.invitation_add(lab=lab, role=role, email=email, by=by, at=timezone.now())


def path_of(invitation: MemberInvitation) -> str:
    """Where the link of an invitation leads."""
    return "/" + people.invitation_address(invitation).split("/", 3)[3]


HOME = re.compile(r"/(campaigns|leaderboards)/$")  # with a lab, and without


def of(user: User) -> Client:
    """Somebody's browser."""
    client = Client()
    client.force_login(user)
    return client


# --- labs


@pytest.mark.skipif("EMAIL_URL" in os.environ, reason="a server of mail is named")
def test_where_no_mail_is_set_up_nothing_is_said_to_be_sent_and_there_is_a_link(lab: Lab) -> None:
    client, page = of(factories.member(lab, "admin", "agnes")), reverse("core:people", args=[lab.pk])
    answer = client.post(page, {"email": "petra@example.org", "role": "viewer"}, follow=True).text
    assert "Copy its link below and send it." in answer and "has been sent" not in answer
    assert "/invited/" in answer


def test_an_admin_of_the_site_makes_labs_as_their_first_admin_or_by_inviting_one(
    lab: Lab, ada: User, settings: Any
) -> None:
    settings.HAS_MAIL = True
    client, page = of(ada), reverse("core:lab_new")
    assert page in client.get(reverse("core:labs")).text

    client.post(page, {"name": " Sounds ", "admin": "me", "email": ""})
    sounds = Lab.objects.get(name="Sounds")
    assert [(row.user, row.role) for row in sounds.memberships.all()] == [(ada, "admin")] and not mail.outbox
    client.post(page, {"name": "Images", "admin": "invited", "email": "nora@example.org"})
    (letter,), invitation = mail.outbox, MemberInvitation.objects.get()
    assert letter.to == ["nora@example.org"] and "join the lab “Images” at Bestknown, as admin" in letter.body
    assert (invitation.lab.name, invitation.role) == ("Images", "admin") and not invitation.lab.memberships.exists()
    entries = AuditEntry.objects.filter(subject="core_lab", action="insert", actor_id=ada.pk).order_by("pk")
    assert [entry.thing for entry in entries] == ["Sounds", "Images"]

    count = Lab.objects.count()
    again = client.post(page, {"name": "sounds", "admin": "invited", "email": "ben@example.org"})
    assert again.status_code == 409 and "There is already a lab called “sounds”" in again.text
    unclear = client.post(page, {"name": "Films", "admin": "me", "email": "ben@example.org"})
    assert unclear.status_code == 400 and "Choose that you invite somebody" in unclear.text
    assert (Lab.objects.count(), MemberInvitation.objects.count(), len(mail.outbox)) == (count, 1, 1)


def test_an_admin_renames_the_lab_to_a_name_that_no_other_has(lab: Lab, agnes: User) -> None:
    factories.lab("Elsewhere")
    client, page = of(agnes), reverse("core:lab_rename", args=[lab.pk])
    assert page in client.get(reverse("core:people", args=[lab.pk])).text

    answer = client.post(page, {"name": "elsewhere"})
    assert answer.status_code == 409 and "There is already a lab called “elsewhere”" in answer.text
    lab.refresh_from_db()
    assert lab.name == "Rita's lab"
    assert client.post(page, {"name": "RITA'S LAB"}).status_code == 303  # its own name, written otherwise
    lab.refresh_from_db()
    assert lab.name == "RITA'S LAB"


# --- one person is one


def test_a_name_is_one_name_however_it_is_written(lab: Lab, agnes: User) -> None:
    rene = factories.user("René")
    rene.set_password(PASSWORD)
    rene.save()
    for written in ("René", "rene\u0301", "  RENÉ ", "\ufeffRené", "ＲＥＮÉ"):
        entered = Client().post(reverse("login"), {"username": written, "password": PASSWORD})
        assert entered.status_code == 302, written

    invitation = invite(lab, agnes)
    for name in ("RENE\u0301", "Agnes"):
        refused = Client().post(path_of(invitation), JOINING | {"username": name})
        assert refused.status_code == 400 and "already exists" in refused.text
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create(username="rENé")
    assert User.objects.filter(username_key="rené").get() == rene
    with pytest.raises(IntegrityError), transaction.atomic():
        Lab.objects.create(name="RITA\u200b'S  lab")
    with pytest.raises(Refused, match="already a lab"):
        lab_rename(lab=factories.lab("Elsewhere"), name="ＲITA'S LAB")


def test_a_name_that_is_changed_is_compared_as_it_is_now(lab: Lab, agnes: User) -> None:
    User.objects.filter(pk=agnes.pk).update(username="Ágnes")
    assert User.objects.get(username_key="ágnes") == agnes
    agnes.username = "ANYÁM"
    agnes.save(update_fields=["username"])
    assert User.objects.get(username_key="anyám") == agnes
    lab.workers.create(label="Nora", platform="panel")
    lab.workers.update(label="NÓRA")
    assert lab.workers.get().label_key == "nóra"
    with pytest.raises(TypeError, match="label: a name"):
        lab.workers.update(label=Upper("label"))
    with pytest.raises(IntegrityError), transaction.atomic():
        Lab.objects.filter(pk=factories.lab("Elsewhere").pk).update(name="RITA'S lab")


def test_every_row_with_a_compared_name_is_updated_with_it() -> None:
    rows = {model for model in apps.get_models() for field in model._meta.fields if isinstance(field, ComparedField)}
    assert len(rows) == 4
    assert [row for row in rows if not issubclass(row, ComparedModel)] == []
    assert [row for row in rows if not isinstance(row._default_manager.get_queryset(), ComparedQuerySet)] == []


def test_a_superuser_of_a_name_that_is_taken_in_another_spelling_is_refused_in_a_sentence(agnes: User) -> None:
    with pytest.raises(CommandError, match="already taken"):
        call_command("createsuperuser", "--no-input", "--username", "AGNES", "--email", "a@example.org", verbosity=0)
    assert User.objects.filter(username_key="agnes").get() == agnes


def test_an_address_is_invited_once_at_a_time(lab: Lab, agnes: User) -> None:
    page = reverse("core:people", args=[lab.pk])
    assert of(agnes).post(page, {"email": "nora@example.org", "role": "viewer"}).status_code == 303
    again = of(agnes).post(page, {"email": "Nora@Example.org", "role": "viewer"})
    assert again.status_code == 409 and "This address is already invited." in again.text
    of(agnes).post(reverse("core:revoke", args=[lab.pk, MemberInvitation.objects.get().pk]))
    assert of(agnes).post(page, {"email": "Nora@Example.org", "role": "viewer"}).status_code == 303


# --- invitations


def test_an_admin_invites_by_mail_and_the_link_makes_an_account_once(lab: Lab, agnes: User, settings: Any) -> None:
    settings.HAS_MAIL = True
    sent = of(agnes).post(reverse("core:people", args=[lab.pk]), {"email": "nora@example.org", "role": "viewer"})
    assert sent.status_code == 303
    (letter,) = mail.outbox
    assert letter.to == ["nora@example.org"] and "agnes invites you to join the lab “Rita's lab”" in letter.body
    link = "/" + re.findall(r"https?://[^/]+/(\S+)", letter.body)[0]

    weak = Client().post(link, JOINING | {"password1": "short", "password2": "short"})
    assert weak.status_code == 400 and not User.objects.filter(username="nora").exists()
    nora = Client()
    assert nora.post(link, JOINING).headers["Location"] == reverse("core:account")

    user = User.objects.get(username="nora")
    assert user.check_password(PASSWORD) and not user.is_staff
    assert lab.memberships.get(user=user).role == "viewer"
    assert EmailAddress.objects.get(user=user).verified  # the link came by mail
    assert "Log out" in nora.get("/campaigns/").text
    again = Client().post(link, JOINING | {"username": "other", "email": ""})
    assert again.status_code == 404 and "no longer valid" in again.text
    assert not User.objects.filter(username="other").exists()


def test_only_the_mailed_link_proves_an_address(lab: Lab, agnes: User, settings: Any) -> None:
    settings.HAS_MAIL = True
    of(agnes).post(reverse("core:people", args=[lab.pk]), {"email": "nora@example.org", "role": "viewer"})
    page = of(agnes).get(reverse("core:people", args=[lab.pk])).text
    (links,) = set(re.findall(r"/invited/[^/\s\"<]+/", page))  # it is signed with the second
    assert links not in mail.outbox[0].body

    Client().post(links, JOINING)

    assert User.objects.get(username="nora").email == ""
    assert not EmailAddress.objects.exists()


@pytest.mark.parametrize("gone", ["removed", "demoted", "disabled"])
def test_an_admin_who_goes_takes_no_invitation_along(lab: Lab, agnes: User, gone: str) -> None:
    factories.member(lab, "admin", "ben")
    invitation, membership = invite(lab, agnes, role="admin"), lab.memberships.get(user=agnes)
    if gone == "removed":
        people.membership_end(membership=membership)
    elif gone == "demoted":
        people.role_set(membership=membership, role="viewer")
    else:
        people.user_disable(user=agnes)

    assert Client().post(path_of(invitation), JOINING).status_code == 404
    assert not User.objects.filter(username="nora").exists()


def test_of_the_staff_only_superusers_administer_the_site(lab: Lab, ada: User) -> None:
    factories.member(lab, "admin", "ruth")
    User.objects.filter(username="ruth").update(is_staff=True)
    ruth, boss = User.objects.get(username="ruth"), factories.member(lab, "viewer", "boss")
    path = reverse("core:reset_link", args=[lab.pk, boss.memberships.get().pk])

    assert of(ruth).post(path).status_code == 403
    assert of(ada).post(path).status_code == 200
    assert AuditEntry.objects.filter(subject="session", action="reset-link", key=str(boss.pk)).count() == 1


def test_without_mail_the_link_is_shown_and_nothing_is_sent(lab: Lab, agnes: User, settings: Any) -> None:
    settings.HAS_MAIL = False
    of(agnes).post(reverse("core:people", args=[lab.pk]), {"email": "nora@example.org", "role": "viewer"})

    page = of(agnes).get(reverse("core:people", args=[lab.pk])).text

    assert mail.outbox == []
    assert re.search(r"/invited/[^/\s\"<]+/", page) and "No mail is set up" in page


def test_a_link_that_was_revoked_or_expired_or_made_up_lets_nobody_in(lab: Lab, agnes: User) -> None:
    revoked, old = invite(lab, agnes), invite(lab, agnes)
    of(agnes).post(reverse("core:revoke", args=[lab.pk, revoked.pk]))
    MemberInvitation.objects.filter(pk=old.pk).update(expires_at=timezone.now() - timedelta(seconds=1))

    for path in (path_of(revoked), path_of(old), "/invited/made-up/"):
        assert Client().get(path).status_code == 404
        assert Client().post(path, JOINING).status_code == 404
    assert not User.objects.filter(username="nora").exists()


def test_two_who_open_one_link_do_not_both_get_in(lab: Lab, agnes: User) -> None:
    at, invitation = timezone.now(), invite(lab, agnes)
    people.invitation_accept(invitation=invitation, user=User(username="first"), at=at)
    with pytest.raises(NotYours):
        people.invitation_accept(invitation=invitation, user=User(username="second"), at=at)
    assert not User.objects.filter(username="second").exists()


def test_somebody_who_has_an_account_joins_with_it(lab: Lab, agnes: User) -> None:
    ruth = factories.user("ruth")
    invitation = invite(lab, agnes, role="organizer")

    assert "Join as ruth" in of(ruth).get(path_of(invitation)).text
    assert of(ruth).post(path_of(invitation)).status_code == 303

    assert lab.memberships.get(user=ruth).role == "organizer"


def test_nobody_signs_up_without_an_invitation(db: None) -> None:
    answer = Client().post(reverse("account_signup"), JOINING)
    assert "closed" in answer.text.casefold() and not User.objects.exists()


# --- roles, and admins of the site


def test_an_admin_gives_roles_and_removes_but_does_not_disable(lab: Lab, rita: User, agnes: User) -> None:
    membership = lab.memberships.get(user=rita)
    client = of(agnes)

    client.post(reverse("core:role", args=[lab.pk, membership.pk]), {"role": "viewer"})
    assert lab.memberships.get(user=rita).role == "viewer"
    refused = client.post(reverse("core:disable", args=[lab.pk, membership.pk]))
    assert refused.status_code == 403 and "Only an admin of this site" in refused.text
    client.post(reverse("core:remove", args=[lab.pk, membership.pk]))
    assert not lab.memberships.filter(user=rita).exists()
    last = client.post(reverse("core:remove", args=[lab.pk, lab.memberships.get(user=agnes).pk]))
    assert last.status_code == 409 and "only admin of the lab" in last.text


def test_an_admin_of_the_site_disables_a_log_in_at_once_and_makes_a_link_for_a_new_password(
    lab: Lab, rita: User, ada: User
) -> None:
    membership, hers = lab.memberships.get(user=rita), of(rita)
    address = reverse("core:disable", args=[lab.pk, membership.pk])
    of(ada).post(address)
    assert hers.get("/campaigns/").status_code == 302
    of(ada).post(address)

    page = of(ada).post(reverse("core:reset_link", args=[lab.pk, membership.pk])).text
    link = "/" + re.findall(r"https?://[^/]+/(account/password/new/[^<\s]+)", page)[0]
    forgetful = Client()
    form = forgetful.get(link, follow=True)
    forgetful.post(form.request["PATH_INFO"], {"password1": PASSWORD, "password2": PASSWORD})

    rita.refresh_from_db()
    assert rita.check_password(PASSWORD)
    assert "password1" not in Client().get(link, follow=True).text


def test_a_viewer_sees_people_but_no_forms_and_no_links(lab: Lab, agnes: User) -> None:
    invitation = invite(lab, agnes)
    page = of(factories.member(lab, "viewer")).get(reverse("core:people", args=[lab.pk])).text
    assert "agnes" in page and "admin" in page
    assert path_of(invitation) not in page and 'name="role"' not in page and "Invite" not in page


def test_the_page_of_people_says_when_somebody_was_last_seen(lab: Lab, rita: User) -> None:
    of(rita).get("/campaigns/")
    rita.refresh_from_db()
    assert rita.last_seen_at is not None
    assert "just now" in of(rita).get(reverse("core:people", args=[lab.pk])).text


# --- logging in


def test_somebody_logs_in_by_name_or_by_address(rita: User) -> None:
    User.objects.filter(pk=rita.pk).update(email="rita@example.org")
    for name in ("rita", "rita@example.org"):
        client = Client()
        assert client.post("/login/", {"username": name, "password": "rita"}).headers["Location"] == "/campaigns/"
        assert client.get("/leaderboards/").status_code == 200


def test_a_forgotten_password_is_reset_by_mail_and_no_answer_tells_who_has_an_account(
    rita: User, settings: Any
) -> None:
    settings.HAS_MAIL = True
    User.objects.filter(pk=rita.pk).update(email="rita@example.org")
    answers = [
        Client().post(reverse("account_reset_password"), {"email": address}).headers["Location"]
        for address in ("rita@example.org", "nobody@example.org")
    ]
    assert answers[0] == answers[1]
    letter = next(letter for letter in mail.outbox if letter.to == ["rita@example.org"])
    link = re.findall(r"https?://[^/]+(/account/password/new/\S+)", letter.body)[0]
    [other] = (letter for letter in mail.outbox if letter.to == ["nobody@example.org"])
    assert letter.subject.startswith("Bestknown: ") and "Bestknown, at " in letter.body and "Hello" not in letter.body
    assert "by invitation" in other.body and "sign up" not in other.body and "/account/" not in other.body
    client = Client()
    form = client.get(link, follow=True)
    client.post(form.request["PATH_INFO"], {"password1": PASSWORD, "password2": PASSWORD})
    rita.refresh_from_db()
    assert rita.check_password(PASSWORD)


def test_without_mail_who_forgot_a_password_is_told_whom_to_ask_and_not_that_a_link_was_sent(
    rita: User, settings: Any
) -> None:
    settings.HAS_MAIL = False
    User.objects.filter(pk=rita.pk).update(email="rita@example.org")
    address = reverse("account_reset_password")
    for answer in (Client().get(address), Client().post(address, {"email": "rita@example.org"})):
        assert answer.status_code == 200
        assert "This site sends no mail" in answer.text and "under People" in answer.text
        assert "<form" not in answer.text
    assert mail.outbox == []


def test_sessions_are_ended_one_alone_all_others_at_once_and_by_a_new_password(rita: User) -> None:
    here, second, elsewhere = Client(), Client(), Client()
    for client in (here, second, elsewhere):
        client.post("/login/", {"username": "rita", "password": "rita"})
    assert UserSession.objects.filter(user=rita).count() == 3
    text = here.get(reverse("usersessions_list")).text
    assert "End all others" in text and text.count("/end/") == 2

    ended = UserSession.objects.get(session_key=second.session.session_key)
    other = of(factories.user("other"))
    assert other.post(reverse("core:session_end", args=[ended.pk])).status_code == 404
    assert second.get("/leaderboards/").status_code == 200
    here.post(reverse("core:session_end", args=[ended.pk]))
    assert second.get("/leaderboards/").status_code == 302
    assert elsewhere.get("/leaderboards/").status_code == 200
    here.post(reverse("usersessions_list"))
    assert elsewhere.get("/leaderboards/").status_code == 302
    assert here.get(reverse("usersessions_list")).text.count("/end/") == 0
    elsewhere.post("/login/", {"username": "rita", "password": "rita"})
    changed = {"oldpassword": "rita", "password1": PASSWORD, "password2": PASSWORD}
    assert here.post(reverse("account_change_password"), changed).status_code == 302

    assert here.get("/leaderboards/").status_code == 200
    assert elsewhere.get("/leaderboards/").status_code == 302


def test_a_test_mail_goes_to_the_admin_who_asks_for_it(ada: User, rita: User, settings: Any) -> None:
    User.objects.filter(pk=ada.pk).update(email="ada@example.org")
    settings.HAS_MAIL = False
    refused = of(ada).post(reverse("core:test_mail"))
    assert refused.status_code == 409 and "EMAIL_URL" in refused.text
    settings.HAS_MAIL = True
    assert of(ada).post(reverse("core:test_mail")).status_code == 303
    assert of(rita).post(reverse("core:test_mail")).status_code == 403
    assert [letter.to for letter in mail.outbox] == [["ada@example.org"]]


def test_a_provider_of_openid_connect_has_a_button_once_it_is_set(client: Client, settings: Any, db: None) -> None:
    assert "Log in with a university" not in client.get("/login/").text
    app = {"provider_id": "university", "name": "a university", "client_id": "us", "secret": "s"}
    app |= {"settings": {"server_url": "https://login.example.edu"}}
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app]}}
    page = client.get("/login/").text
    assert "Log in with a university" in page and "/account/oidc/university/login/" in page


# --- the whole way, in a browser


@pytest.fixture
def page(live_server: Any, settings: Any, chromium: Browser) -> Iterator[Page]:
    """A page; what a script or the content policy complains of is a failure."""
    settings.ALLOWED_HOSTS = ["*"]
    settings.RATELIMIT_ENABLE = False
    settings.SITE_URL = live_server.url
    complaints: list[str] = []
    context = chromium.new_context(base_url=live_server.url, viewport=DESK, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if "Content Security" in message.text else None)
    yield page
    assert complaints == []


def log_in(page: Page, name: str) -> None:
    page.goto("/login/")
    page.fill("#id_username", name)
    page.fill("#id_password", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(HOME)


def code_of(secret: str, later: int = 0) -> str:
    """What an authenticator app shows now, or so many periods later."""
    return str(auth.format_hotp_value(auth.hotp_value(secret, int(time.time()) // 30 + later)))


@pytest.mark.django_db(transaction=True)
def test_somebody_who_is_invited_joins_sets_up_codes_and_logs_in_with_one(page: Page) -> None:
    lab = factories.lab("Rita's lab")
    agnes = factories.member(lab, "admin", "agnes")
    page.goto(path_of(invite(lab, agnes, role="admin")))
    looks_right(page)
    page.get_by_label("Name to log in with").fill("nora")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Create my account").click()
    expect(page.get_by_role("heading", name="Your account")).to_be_visible()
    looks_right(page)

    page.get_by_role("link", name="App, passkeys and recovery codes").click()
    looks_right(page)
    page.get_by_role("link", name="Activate").click()
    page.get_by_label("Password").fill(PASSWORD)  # who is logged in is asked again, before anything of this
    looks_right(page)
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_label("Secret, to type instead of scanning")).to_be_visible()
    looks_right(page)
    secret = page.locator("#authenticator_secret").input_value()
    page.locator("[name=code]").fill(code_of(secret))
    page.get_by_role("button", name="Activate").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    looks_right(page)

    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login/**")
    looks_right(page)
    page.fill("#id_username", "nora")
    page.fill("#id_password", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/authenticate/**")
    looks_right(page)
    page.goto("/campaigns/")
    expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()  # the password is not enough
    page.goto("/account/factors/authenticate/")
    page.locator("[name=code]").fill(code_of(secret, later=1))
    page.keyboard.press("Enter")
    page.wait_for_url(HOME)

    for path in ("account/sessions", "account/password", "account/email", "account/factors/webauthn/add", "labs"):
        page.goto(f"/{path}/")
        looks_right(page)


@pytest.mark.django_db(transaction=True)
def test_a_passkey_is_registered_logs_in_alone_and_no_longer_once_it_is_removed(page: Page) -> None:
    rita = factories.user("rita")
    rita.set_password(PASSWORD)
    rita.save()
    device = page.context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    traits = {"hasResidentKey": True, "hasUserVerification": True, "isUserVerified": True}
    traits |= {"protocol": "ctap2", "transport": "internal", "automaticPresenceSimulation": True}
    key = device.send("WebAuthn.addVirtualAuthenticator", {"options": traits})["authenticatorId"]

    def stored() -> list[Any]:
        credentials: list[Any] = device.send("WebAuthn.getCredentials", {"authenticatorId": key})["credentials"]
        return credentials

    log_in(page, "rita")
    page.goto("/account/factors/webauthn/add/")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.locator("#id_name").fill("Rita's phone")
    page.locator("#id_passwordless").check()
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    assert len(stored()) == 1

    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login/**")
    page.get_by_role("button", name="Log in with a passkey").click()
    page.wait_for_url(HOME)
    page.goto("/account/factors/")
    expect(page.get_by_text("You have added 1 passkey.")).to_be_visible()
    looks_right(page)
    page.goto("/account/factors/webauthn/")
    expect(page.get_by_text(f"Added on {timezone.now():%-d %b %Y}.")).to_be_visible()
    looks_right(page)

    page.get_by_role("link", name="Remove").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("status").filter(has_text="The passkey has been removed.")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login/**")
    page.get_by_role("button", name="Log in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("This passkey is not known here, or has been removed.")
    page.goto("/campaigns/")
    expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()


@pytest.mark.django_db(transaction=True)
def test_an_address_changes_once_the_mailed_link_was_followed(page: Page, settings: Any) -> None:
    settings.HAS_MAIL = True
    rita = factories.user("rita", email="rita@example.org")
    rita.set_password(PASSWORD)
    rita.save()
    EmailAddress.objects.create(user=rita, email=rita.email, verified=True, primary=True)
    log_in(page, "rita")
    page.goto("/account/email/")
    expect(page.get_by_text("Your address is rita@example.org.")).to_be_visible()
    looks_right(page)

    def change(address: str) -> None:
        page.get_by_label("New address").fill(address)
        page.get_by_role("button", name="Change the address").click()

    change("nonsense@")
    expect(page.get_by_text("the link that was mailed")).to_have_count(0)
    change("new@example.org")
    expect(page.get_by_text("new@example.org is used once you have followed the link")).to_be_visible()
    looks_right(page)
    page.get_by_role("button", name="Keep the present address").click()
    expect(page.get_by_text("the link that was mailed")).to_have_count(0)
    change("newer@example.org")
    letter = next(letter for letter in mail.outbox if letter.to == ["newer@example.org"])
    page.goto(re.findall(r"https?://[^/]+(/account/\S+)", letter.body)[0])
    looks_right(page)
    page.get_by_role("button", name="Confirm").click()
    page.goto("/account/email/")
    expect(page.get_by_text("Your address is newer@example.org.")).to_be_visible()
    rita.refresh_from_db()
    assert rita.email == "newer@example.org"
    settings.HAS_MAIL = False
    page.goto("/account/email/")
    expect(page.get_by_text("No mail is set up on this site, so an address cannot be confirmed")).to_be_visible()
    looks_right(page)

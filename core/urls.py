"""The pages about people, and how they log in."""

from allauth.account import views as accounts
from django.contrib.auth.views import LogoutView
from django.urls import include, path, re_path

from core import alarm_views, component_views, lab_views
from core import people_views as views
from core.login import LimitedLogin

app_name = "core"
urlpatterns = [
    path("account/", views.account, name="account"),
    path("account/sessions/<int:pk>/end/", views.session_end, name="session_end"),
    path("account/test-mail/", views.test_mail, name="test_mail"),
    path("alarms/", alarm_views.alarm_choice, name="alarm_choice"),
    path("components/", component_views.components, name="components"),
    path("invited/<str:token>/", views.invited, name="invited"),
    path("labs/", views.labs, name="labs"),
    path("labs/new/", lab_views.lab_new, name="lab_new"),
    path("labs/<int:pk>/name/", lab_views.rename, name="lab_rename"),
    path("labs/<int:pk>/people/", views.people, name="people"),
    path("labs/<int:pk>/people/invitations/<int:invitation_pk>/revoke/", views.invitation_revoke, name="revoke"),
    path("labs/<int:pk>/people/<int:membership_pk>/role/", views.role, name="role"),
    path("labs/<int:pk>/people/<int:membership_pk>/remove/", views.remove, name="remove"),
    path("labs/<int:pk>/people/<int:membership_pk>/disable/", views.disable, name="disable"),
    path("labs/<int:pk>/people/<int:membership_pk>/reset/", views.reset_link, name="reset_link"),
]
# Under the names that allauth knows. Of its pages, those are left out that a site without sign-up does not need.
allauth_patterns = [
    path("login/", LimitedLogin.as_view(), name="login"),
    path("login/", LimitedLogin.as_view(), name="account_login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("logout/", LogoutView.as_view(), name="account_logout"),
    path("account/closed/", accounts.signup, name="account_signup"),
    path("account/inactive/", accounts.account_inactive, name="account_inactive"),
    path("account/reauthenticate/", accounts.reauthenticate, name="account_reauthenticate"),
    path("account/email/", views.address_change, name="account_email"),
    path("account/email/sent/", accounts.email_verification_sent, name="account_email_verification_sent"),
    re_path(r"^account/email/confirm/(?P<key>[-:\w]+)/$", accounts.confirm_email, name="account_confirm_email"),
    path("account/password/", accounts.password_change, name="account_change_password"),
    path("account/password/set/", accounts.password_set, name="account_set_password"),
    path("account/password/forgotten/", views.password_forgotten, name="account_reset_password"),
    path("account/password/sent/", accounts.password_reset_done, name="account_reset_password_done"),
    re_path(
        r"^account/password/new/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        accounts.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path("account/password/done/", accounts.password_reset_from_key_done, name="account_reset_password_from_key_done"),
    path("account/factors/", include("allauth.mfa.urls")),
    path("account/sessions/", include("allauth.usersessions.urls")),
    path("account/elsewhere/", include("allauth.socialaccount.urls")),
    path("account/", include("allauth.socialaccount.providers.openid_connect.urls")),
]

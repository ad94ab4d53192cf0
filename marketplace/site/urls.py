"""The worker's addresses. `home` answers at the root, beside the API: see marketplace.urls."""

from django.urls import path, register_converter

from marketplace.site import frames, views
from marketplace.site.edge import IdConverter

register_converter(IdConverter, "id")

app_name = "site"

urlpatterns = [
    path("welcome", views.home, name="home"),
    path("login", views.LogIn.as_view(), name="login"),
    path("logout", views.LogOut.as_view(), name="logout"),
    path("register", views.register, name="register"),
    path("password/<str:uidb64>/<str:token>", views.PasswordNew.as_view(), name="password_new"),
    path("account", views.account, name="account"),
    path("account/password", views.PasswordChange.as_view(), name="password"),
    path("tasks", views.tasks, name="tasks"),
    path("tasks/<id:hit_id>", views.preview, name="preview"),
    path("tasks/<id:hit_id>/accept", views.accept, name="accept"),
    path("kinds/<id:group_id>/accept", views.accept_next, name="accept_next"),
    path("mturk/preview", views.linked, name="linked"),
    path("mturk/previewandaccept", views.linked),
    path("projects/<id:kind_id>/tasks", views.linked),
    path("projects/<id:kind_id>/tasks/accept_random", views.linked),
    path("work/<id:assignment_id>", views.work_page, name="work"),
    path("work/<id:assignment_id>/state", views.work_state, name="work_state"),
    path("work/<id:assignment_id>/check", views.work_check, name="work_check"),
    path("work/<id:assignment_id>/return", views.work_return, name="work_return"),
    path("work/<id:assignment_id>/dispute", views.dispute, name="dispute"),
    path("question/<str:token>", frames.question, name="question"),
    path("history", views.history, name="history"),
    path("earnings", views.earnings, name="earnings"),
    path("qualifications", views.qualifications, name="qualifications"),
    path("qualifications/<id:type_id>/request", views.qualification_ask, name="qualification_ask"),
    path("messages", views.letters, name="letters"),
    path("messages/<int:message_pk>", views.letter, name="letter"),
    path("messages/<int:message_pk>/answer", views.letter_reply, name="letter_reply"),
    path("contact/<id:hit_id>", views.contact, name="contact"),
]

"""The URLs of workers' pages. `home` answers at the root, beside the API: see marketplace.urls."""

from django.urls import path, register_converter
from django.views.i18n import set_language

from marketplace.pages import IdConverter
from marketplace.workers import account_views, frames, message_views, record_views, task_views

register_converter(IdConverter, "id")

app_name = "workers"

urlpatterns = [
    path("welcome", account_views.home, name="home"),
    path("language", set_language, name="language"),
    path("login", account_views.LogIn.as_view(), name="login"),
    path("logout", account_views.LogOut.as_view(), name="logout"),
    path("register", account_views.register, name="register"),
    path("password/<str:uidb64>/<str:token>", account_views.PasswordNew.as_view(), name="password_new"),
    path("account", account_views.account, name="account"),
    path("account/data.json", account_views.account_data, name="account_data"),
    path("account/close", account_views.account_closing, name="account_close"),
    path("account/password", account_views.PasswordChange.as_view(), name="password"),
    path("tasks", task_views.tasks, name="tasks"),
    path("tasks/<id:hit_id>", task_views.preview, name="preview"),
    path("tasks/<id:hit_id>/accept", task_views.accept, name="accept"),
    path("kinds/<id:group_id>/accept", task_views.accept_next, name="accept_next"),
    path("mturk/preview", task_views.linked, name="linked"),
    path("mturk/previewandaccept", task_views.linked),
    path("projects/<id:kind_id>/tasks", task_views.linked),
    path("projects/<id:kind_id>/tasks/accept_random", task_views.linked),
    path("work/<id:assignment_id>", task_views.work_page, name="work"),
    path("work/<id:assignment_id>/state", task_views.work_state, name="work_state"),
    path("work/<id:assignment_id>/check", task_views.work_check, name="work_check"),
    path("work/<id:assignment_id>/return", task_views.work_return, name="work_return"),
    path("work/<id:assignment_id>/dispute", task_views.dispute, name="dispute"),
    path("question/<str:token>", frames.question, name="question"),
    path("history", task_views.history, name="history"),
    path("earnings", record_views.earnings, name="earnings"),
    path("qualifications", record_views.qualifications, name="qualifications"),
    path("qualifications/<id:type_id>/request", record_views.qualification_request_new, name="qualification_request"),
    path("messages", message_views.messages, name="messages"),
    path("messages/<int:message_pk>", message_views.message, name="message"),
    path("messages/<int:message_pk>/answer", message_views.message_answer, name="message_answer"),
    path("contact/<id:hit_id>", message_views.contact, name="contact"),
]

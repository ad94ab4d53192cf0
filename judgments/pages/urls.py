"""The workers' pages, and their saving endpoint."""

from django.urls import path, register_converter
from django.views.decorators.csrf import csrf_exempt
from django.views.i18n import set_language

from core.roles import Right, needs
from judgments.pages import api, frame_entry, practice, reporting, trying, visit_entry
from judgments.pages import worker as worker_pages

app_name = "judging"
register_converter(trying.TrialConverter, "trial")
# Of a trial before those of real work: the addresses are the same, and the token says which it is.
urlpatterns = [
    path("language/", needs(Right.PUBLIC)(csrf_exempt(set_language)), name="language"),
    path("c/<trial:token>/", trying.preview, name="preview"),
    path("c/<trial:token>/consent/", trying.join, name="join"),
    path("c/<trial:token>/declined/", trying.declined, name="declined"),
    path("w/<trial:token>/", trying.home, name="home"),
    path("w/<trial:token>/next/", trying.take, name="take"),
    path("j/<trial:token>/", trying.instructions, name="instructions"),
    path("j/<trial:token>/practice/", trying.practice, name="practice"),
    path("j/<trial:token>/practice/<int:position>/", trying.practice_pair, name="practice_pair"),
    path("j/<trial:token>/<int:position>/", trying.item, name="item"),
    path("j/<trial:token>/<int:position>/save/", trying.save, name="save"),
    path("j/<trial:token>/<int:position>/report/", trying.report, name="report"),
    path("j/<trial:token>/finish/", trying.finish, name="finish"),
    path("j/<trial:token>/leave/", trying.leave, name="leave"),
    path("j/<trial:token>/done/", trying.done, name="done"),
    path("c/<str:link>/", worker_pages.preview, name="preview"),
    path("c/<str:link>/consent/", worker_pages.join, name="join"),
    path("c/<str:link>/declined/", worker_pages.declined, name="declined"),
    path("c/<str:link>/pay/", reporting.ask_about_pay, name="ask_about_pay"),
    path("m/<str:link>/declined/", frame_entry.declined_in_frame, name="declined_in_frame"),
    path("m/<str:link>/<int:number>/", frame_entry.arrive, name="arrive"),
    path("p/<str:link>/", visit_entry.arrive, name="visit"),
    path("p/<str:link>/declined/", visit_entry.declined, name="visit_declined"),
    path("w/<str:token>/", worker_pages.home, name="home"),
    path("w/<str:token>/consent/", worker_pages.consent, name="consent"),
    path("w/<str:token>/next/", worker_pages.take, name="take"),
    path("w/<str:token>/another/", worker_pages.begin_as_another, name="another"),
    path("w/<str:token>/pay/", worker_pages.leave_pay_detail, name="pay_detail"),
    path("j/<str:token>/", worker_pages.instructions, name="instructions"),
    path("j/<str:token>/practice/", practice.practice, name="practice"),
    path("j/<str:token>/practice/<int:position>/", practice.practice_pair, name="practice_pair"),
    path("j/<str:token>/<int:position>/", worker_pages.item, name="item"),
    path("j/<str:token>/<int:position>/save/", api.save, name="save"),
    path("j/<str:token>/<int:position>/report/", reporting.report, name="report"),
    path("j/<str:token>/finish/", worker_pages.finish, name="finish"),
    path("j/<str:token>/leave/", worker_pages.leave, name="leave"),
    path("j/<str:token>/note/", reporting.write, name="note"),
    path("j/<str:token>/done/", worker_pages.done, name="done"),
]

"""The pages on which campaigns are made and changed."""

from django.urls import path

from campaigns import campaign_views, draft_views, drafting_views, template_views, views

app_name = "campaigns"
urlpatterns = [
    path("search/", views.search, name="search"),
    path("campaigns/", views.campaigns, name="campaigns"),
    path("campaigns/new/", views.campaign_new, name="campaign_new"),
    path("campaigns/<int:pk>/", campaign_views.campaign, name="campaign"),
    path("campaigns/<int:pk>/plan/", campaign_views.plan, name="plan"),
    path("campaigns/<int:pk>/settings/", campaign_views.settings, name="settings"),
    path("campaigns/<int:pk>/edit/", drafting_views.campaign_edit, name="campaign_edit"),
    path("campaigns/<int:pk>/name/", views.campaign_rename, name="campaign_rename"),
    path("campaigns/<int:pk>/archive/", views.campaign_archive, name="campaign_archive"),
    path("campaigns/<int:pk>/unarchive/", views.campaign_unarchive, name="campaign_unarchive"),
    path("campaigns/<int:pk>/delete/", views.campaign_delete, name="campaign_delete"),
    path("campaigns/consequences/", draft_views.consequences, name="consequences"),
    path("campaigns/<int:pk>/platform/reach/", draft_views.draft_reach, name="draft_reach"),
    path("templates/", template_views.templates, name="templates"),
    path("templates/<int:pk>/", template_views.template, name="template"),
    path("templates/<int:pk>/terms/", template_views.template_terms, name="template_terms"),
    path("templates/<int:pk>/default/", template_views.template_default, name="template_default"),
    path("templates/<int:pk>/delete/", template_views.template_delete, name="template_delete"),
    path("campaigns/<int:pk>/template/", template_views.template_save, name="template_save"),
    path("labs/<int:pk>/pay/", template_views.pay_floor, name="pay_floor"),
]

"""Read-only pages of one workspace; `pk` is its id, which is the run's."""

from django.urls import path

from workspaces import views

urlpatterns = [
    path("", views.files, name="workspace_files"),
    path("file/", views.file, name="workspace_file"),
    path("reads/", views.reads, name="workspace_reads"),
    path("baselines/", views.baselines, name="workspace_baselines"),
    path("sakura/", views.sakura, name="workspace_sakura"),
]

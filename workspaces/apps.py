"""The application of places on disk: sources, trees, snapshots, sandbox."""

from django.apps import AppConfig


class WorkspacesConfig(AppConfig):
    name = "workspaces"

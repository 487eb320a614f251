"""The application of tasks, runs, agents and their live pages."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    name = "agents"

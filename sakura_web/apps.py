"""The wiring: settings, urls, health, start-up checks."""

from django.apps import AppConfig


class SakuraWebConfig(AppConfig):
    name = "sakura_web"

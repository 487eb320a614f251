"""How fast the tools are, each held against the least that could do the same work on the same machine."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sakura_web.settings")
django.setup()

"""The ASGI application: pages and API by Django, sockets and the workers' bell by Channels."""

import os

from channels.routing import ChannelNameRouter, ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sakura_web.settings")
django_application = get_asgi_application()

from agents import farewell  # noqa: E402
from agents.consumers import websocket_urlpatterns  # noqa: E402 -- models load only after set-up
from agents.worker import Bell  # noqa: E402
from sakura_web import request_bodies, socket_messages  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": django_application,
        # The consumers check session and Origin, or the token, themselves, and again every minute.
        "websocket": URLRouter(websocket_urlpatterns),
        "channel": ChannelNameRouter({"agents": Bell()}),
    }
)

farewell.install()
request_bodies.install()
socket_messages.install()

"""Every address of the site."""

from django.urls import include, path

from agents.api import api
from sakura_web import faults, health

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("api/v1/", api.urls),
    path("runs/<int:pk>/workspace/", include("workspaces.urls")),
    path("", include("agents.urls")),
]
handler400 = faults.bad_request
handler500 = faults.server_error

"""The secrets of a repository: kept sealed, given to single commands by a task's policy."""

from django.conf import settings
from django.db import models

from workspaces.models import Repository


class Secret(models.Model):
    """A value that some commands need, such as a token, under the name of the variable that they read it from."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="secrets")
    name = models.CharField(max_length=100, help_text="The name of the environment variable.")
    sealed = models.BinaryField(help_text="Encrypted; never shown again.")
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    set_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["repository", "name"], name="one_secret_per_repository_and_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.repository_id}"

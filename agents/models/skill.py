"""Which skills an admin switched off; one that nobody switched off is on."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from workspaces.models import Repository


class DisabledSkill(models.Model):
    """A skill that agents are not offered, by the repository it lies in and its name.

    Without a repository it is one of the application's own: those that come with it and the installation's.
    """

    repository = models.ForeignKey(Repository, null=True, on_delete=models.CASCADE, related_name="disabled_skills")
    name = models.CharField(max_length=64)
    disabled_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    disabled_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["repository", "name"], name="one_switch_per_repository_and_skill"),
            models.UniqueConstraint(
                fields=["name"], condition=Q(repository=None), name="one_switch_per_skill_of_the_application"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.repository_id or 'the application'}, off"

    @classmethod
    def names(cls, repository_id: int | None) -> frozenset[str]:
        """Return the names that are off in the repository, or for None among the application's own. One query."""
        return frozenset(cls.objects.filter(repository_id=repository_id).values_list("name", flat=True))

"""Which skills an admin switched off."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0002_roles"),
        ("workspaces", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="DisabledSkill",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64)),
                ("disabled_at", models.DateTimeField(auto_now_add=True)),
                (
                    "disabled_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "repository",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="disabled_skills",
                        to="workspaces.repository",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("repository", "name"), name="one_switch_per_repository_and_skill"),
                    models.UniqueConstraint(
                        condition=models.Q(("repository", None)),
                        fields=("name",),
                        name="one_switch_per_skill_of_the_application",
                    ),
                ],
            },
        ),
    ]

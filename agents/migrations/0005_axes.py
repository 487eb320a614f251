"""Wrong passwords are counted by django-axes, in a table of its own."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0004_wall'),
    ]

    operations = [
        migrations.DeleteModel(
            name='LoginAttempts',
        ),
    ]

"""What people fill in: each form checks itself, and the bounds are those of the models."""

"""What decides what a project's tests mean, and what a run changed of it, by whatever means."""

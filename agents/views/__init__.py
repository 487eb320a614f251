"""The pages and the posts behind agents/urls.py: thin functions that ask models and control, and render."""

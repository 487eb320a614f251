"""Dates of terms and renewals."""

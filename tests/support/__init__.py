"""Helpers that all tests may use. tests/conftest.py puts this folder's parent on the path."""

"""Decides whether a fix is a fix, from runs before it, after it, and with it reverted."""

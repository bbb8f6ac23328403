"""Looks at recorded programs while they run: the launches in flight, and a word when nothing moves any more."""

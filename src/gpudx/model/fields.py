"""Fields that came to a case after its first version: a reader must not demand them of older files."""

LATER = {"later": True}  # metadata of such a field, which has a default

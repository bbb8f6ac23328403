"""Pictures: one file each, with `draw(case, page)`, which gives the inside of a figure."""

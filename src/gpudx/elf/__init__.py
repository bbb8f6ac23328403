"""Reads ELF files: headers, sections, and whether a file was written to its end."""

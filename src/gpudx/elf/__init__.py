"""Reads ELF files: headers, sections, symbols and debug information, and whether a file was written to its end."""

"""Reads what other tools wrote, one module per format: core dumps, sanitizer output, device code, disassembly.

A module that reads files has

    a docstring       what writes the format, what is read, what is not
    read(path)        the file as frozen dataclasses; raises UserError and nothing else
    to_findings(...)  what it says, in the model that live runs use

Logs that people paste hold many formats at once: those are in `logs/`; checks of kernel sources are in `sources/`, and model files in
`models/`. A tool that did not run is never a tool that found nothing: every reader keeps these apart.
"""

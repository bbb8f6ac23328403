"""The interpreter of Python processes and its packages, from folder names beside what was loaded. Nothing of the user's is
imported.

A package's metadata lies in NAME-VERSION.dist-info beside it ("Recording installed projects", PyPA specifications).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from gpudx.identity.places import PYTHON
from gpudx.model import LoadedObject, Package

FOLDER = re.compile(r".*?/(?:site|dist)-packages(?=/)")
METADATA = re.compile(r"(.+?)-(\d[^-]*)\.(?:dist|egg)-info")


def folders(objects: Iterable[LoadedObject]) -> tuple[str, ...]:
    """The folders of packages that something was loaded from."""
    found = (FOLDER.match(one.path) for one in objects)
    return tuple(dict.fromkeys(match[0] for match in found if match))


def packages(objects: Iterable[LoadedObject]) -> tuple[Package, ...]:
    """All packages in these folders; those of which an object was loaded come first."""
    listed = list(objects)
    told = [one for folder in folders(listed) for one in _in(folder, [o.path for o in listed])]
    return tuple(sorted(told, key=lambda one: (not one.loaded, one.name.lower(), one.folder)))


def _in(folder: str, paths: list[str]) -> Iterable[Package]:
    tops = {
        path[len(folder) + 1 :].split("/")[0].split(".")[0].lower() for path in paths if path.startswith(folder + "/")
    }
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for match in filter(None, map(METADATA.fullmatch, names)):
        yield Package(match[1], match[2], folder, match[1].lower().replace("-", "_") in tops)


def interpreters(objects: Iterable[LoadedObject]) -> tuple[str, ...]:
    """ "Python 3.11 (/usr/bin/python3.11)" for each interpreter that ran."""
    found = []
    for one in objects:
        match = PYTHON.search(one.path)
        if match and one.executable:
            found.append(f"Python {one.path.rpartition('python')[2]} ({one.path})")
        elif match and (match[1] or match[2]):
            found.append(f"Python {match[1] or match[2]}")
    versions = {text.split(" (")[0] for text in found if " (" in text}
    return tuple(dict.fromkeys(text for text in found if " (" in text or text not in versions))

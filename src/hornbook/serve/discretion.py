"""Messages for those who ask from elsewhere: they do not tell where the root lies."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

Saying = Callable[[str], str]


def plainly(text: str) -> str:
    """A message as it is, for those who sit at this machine."""
    return text


def discreetly(root: Path) -> Saying:
    """What makes paths in a message relative to the root, however the root was spelled."""
    spellings = {str(root), str(root.absolute()), str(root.resolve())}
    # The root of the file system is in every path, and tells nothing.
    places = sorted((re.escape(each) for each in spellings if each != "/"), key=len, reverse=True)
    if not places:
        return plainly
    found = re.compile(rf"(?:{'|'.join(places)})(?:(/)|(?![\w.-]))")
    return lambda text: found.sub(lambda match: "" if match[1] else "the root", text)


def said_in(value: object, said: Saying) -> object:
    """A value of an answer with every text in it said so."""
    if isinstance(value, str):
        return said(value)
    if isinstance(value, Mapping):
        return {key: said_in(each, said) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [said_in(each, said) for each in value]
    return value

"""Paths that a piece of inline code writes, where it names them in so many words.

Code cannot be judged by its text; what is found here is an early warning and no more. The scope
gate over the git diff is what holds.
"""

import re

_TEXT = r"""r?(?P<quote>['"])(?P<path>[^'"\n]+)(?P=quote)"""
_WRITES = [
    re.compile(rf"""\bopen\s*\(\s*{_TEXT}\s*,\s*(?:mode\s*=\s*)?['"][rbt]*[wax+]"""),
    re.compile(
        rf"""\bPath\s*\(\s*{_TEXT}\s*\)\s*\.\s*"""
        r"""(?:write_text|write_bytes|unlink|touch|mkdir|rmdir|rename|replace|symlink_to|chmod)\b"""
    ),
    re.compile(
        r"""\b(?:os\s*\.\s*(?:remove|unlink|rmdir|truncate|mkdir|makedirs|rename|replace)"""
        r"""|shutil\s*\.\s*rmtree|(?:write|append)File(?:Sync)?|(?:unlink|rm|mkdir|truncate)Sync"""
        rf"""|File\s*\.\s*(?:write|delete|unlink)|FileUtils\s*\.\s*\w+)\s*\(?\s*{_TEXT}"""
    ),
    re.compile(
        r"""\b(?:rename|copyFile|copy|copy2|copyfile|move|symlink|link)(?:Sync)?\s*\(\s*"""
        rf"""['"][^'"\n]+['"]\s*,\s*{_TEXT}"""
    ),
    re.compile(r""">>?\s*(?P<quote>")(?P<path>[^"\n]+)"(?=\s*(?:[;}\n]|\Z))"""),
    re.compile(r"""\bopen\s*\(?\s*\w+\s*,\s*(?P<quote>['"])\s*>+\s*(?P<path>[^'"\n]+)['"]"""),
]
_SEEMS_TO_WRITE = re.compile(
    r"write|unlink|remove|rmtree|rename|replace|mkdir|touch|copy|move|truncate|symlink|dump|save"
    r"|delete|system|subprocess|popen|exec|spawn|open\s*\([^)]*,"
)


def written(code: str) -> list[str]:
    """The paths that the code names as what it writes."""
    return [found["path"].strip() for pattern in _WRITES for found in pattern.finditer(code)]


def seems_to_write(code: str) -> bool:
    """Whether the code has a word in it that writing needs."""
    return _SEEMS_TO_WRITE.search(code) is not None

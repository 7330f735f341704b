"""Edits that heal findings and change nothing else: what is safe to do without a person.

Safe are: the case of a path, the target of a link when only one file can be meant, `\\` for `/` in
a pattern, and a file that is not UTF-8 or has blank lines before its frontmatter. Nothing else is
edited: what a rule should say, only its authors know.
"""

from collections.abc import Iterable
from pathlib import Path

from hornbook.disk import write_whole
from hornbook.doctor.finding import Edit, Finding

_BYTE_ORDER_MARKS = (
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)


def fix(root: Path, findings: Iterable[Finding]) -> list[Finding]:
    """Carry the edits out, those in one file together; those that were carried out."""
    return [
        finding
        for finding in findings
        if finding.edit is not None and _edited(root / finding.path, finding.edit)
    ]


def _edited(path: Path, edit: Edit) -> bool:
    data = path.read_bytes()
    new = _anew(data) if edit.line is None else _line_edited(data, edit.line, edit)
    if new is None or new == data:
        return False
    write_whole(path, new)
    return True


def _anew(data: bytes) -> bytes | None:
    coding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(coding).lstrip("\r\n \t").encode()
    except UnicodeDecodeError:
        return None


def _line_edited(data: bytes, line: int, edit: Edit) -> bytes | None:
    lines = data.split(b"\n")
    old = edit.old.encode()
    if line > len(lines) or old not in lines[line - 1]:
        return None
    lines[line - 1] = lines[line - 1].replace(old, edit.new.encode())
    return b"\n".join(lines)

"""Forms that browsers send: fields, and files where a form takes them."""

from dataclasses import dataclass
from email.message import Message
from urllib.parse import parse_qs

from hornbook.serve.http.problems import HttpRefusal

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
MOST_FIELDS = 100


@dataclass(frozen=True, slots=True)
class FormFile:
    """A file that somebody chose or dropped."""

    field: str
    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class SentForm:
    """What a form held: the first value of each name, and its files in their order."""

    fields: dict[str, str]
    files: tuple[FormFile, ...] = ()


def is_form(content_type: str) -> bool:
    """Whether a body is what a browser makes of a form."""
    return content_type.lower().startswith((URLENCODED, MULTIPART))


def read_form(body: bytes, content_type: str) -> SentForm:
    """The form in a body; what is no form has no fields.

    Raises:
        HttpRefusal: It has too many fields, or does not say where they end.
    """
    kind = content_type.lower()
    if kind.startswith(MULTIPART):
        return _multipart(body, content_type)
    return SentForm(_urlencoded(body) if kind.startswith(URLENCODED) else {})


def _urlencoded(body: bytes) -> dict[str, str]:
    text = body.decode("utf-8", "replace")
    try:
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise _too_many() from None
    return {name: values[0] for name, values in fields.items()}


def _multipart(body: bytes, content_type: str) -> SentForm:
    boundary = _parameter(content_type, "boundary")
    if not boundary:
        raise HttpRefusal(400, "form", "the form names no boundary: send it from its page.")
    # A browser begins with the boundary; every other one stands behind the end of a line.
    _, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary.encode("latin-1", "replace"))
    if len(parts) > MOST_FIELDS:
        raise _too_many()
    fields: dict[str, str] = {}
    files: list[FormFile] = []
    for part in parts:
        head, ends, data = part.partition(b"\r\n\r\n")
        said = _disposition(head.decode("utf-8", "replace"))
        name, file = _parameter(said, "name"), _parameter(said, "filename")
        if not ends or not name:
            continue  # the last one, which only ends the form
        if file is None:
            fields.setdefault(name, data.decode("utf-8", "replace"))
        elif file or data:  # a field that nobody chose a file for has neither
            files.append(FormFile(name, file, data))
    return SentForm(fields, tuple(files))


def _disposition(head: str) -> str:
    lines = (line.partition(":") for line in head.split("\r\n"))
    return next((said for name, _, said in lines if name.lower() == "content-disposition"), "")


def _parameter(header: str, name: str) -> str | None:
    """A parameter of a header such as `form-data; name="csrf"`; None if it has none."""
    message = Message()
    message["content-disposition"] = header.strip()
    found = message.get_param(name, header="content-disposition")
    return found if isinstance(found, str) else None


def _too_many() -> HttpRefusal:
    return HttpRefusal(400, "form", f"the form has more than {MOST_FIELDS} fields: send fewer.")

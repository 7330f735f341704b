"""Which of the forms that we have a client wants most (RFC 9110, section 12.5.1)."""

import re
from collections.abc import Sequence

_QUALITY = re.compile(r"(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\Z")


def best(accept: str | None, offered: Sequence[str], default: str) -> str | None:
    """The media type that is wanted most; the default where anything will do, None for none."""
    if accept is None or not accept.strip():
        return default
    wanted = [_range(part) for part in accept.split(",") if part.strip()]
    ranked = []
    for place, media_type in enumerate(offered):
        fitting = [(rank, q) for name, q in wanted if (rank := _fits(name, media_type))]
        rank, quality = max(fitting, default=(0, 0.0))
        if quality > 0:
            ranked.append((quality, rank, media_type == default, -place, media_type))
    return max(ranked)[-1] if ranked else None


def _range(part: str) -> tuple[str, float]:
    name, *parameters = (each.strip() for each in part.split(";"))
    for each in parameters:
        key, _, value = each.partition("=")
        if key.strip().lower() == "q":
            value = value.strip()
            return name.lower(), float(value) if _QUALITY.match(value) else 0.0
    return name.lower(), 1.0


def _fits(wanted: str, media_type: str) -> int:
    """How exactly a range names a media type: 3 by name, 2 by kind, 1 as anything, 0 not at all."""
    if wanted == media_type:
        return 3
    if wanted == media_type.partition("/")[0] + "/*":
        return 2
    return 1 if wanted == "*/*" else 0

"""The stored answers: compared, or with `HORNBOOK_FREEZE=write` written anew."""

import difflib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "frozen"
MOST_LINES = 60
_ALONE = re.compile("[\ud800-\udfff]")  # a half of a character, which no file can hold


def writing() -> bool:
    """Whether the stored answers are to be replaced by those of today."""
    return os.environ.get("HORNBOOK_FREEZE") == "write"


def rendered(value: object) -> str:
    """The stored form of an answer."""
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    return _ALONE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def hold(folder: str, answers: Mapping[str, object]) -> None:
    """Compare answers with the stored ones, all at once, so that one run tells all differences."""
    place = DATA / folder
    if writing():
        place.mkdir(parents=True, exist_ok=True)
        texts = {f"{name}.json": rendered(value) for name, value in answers.items()}
        for path in place.glob("*.json"):
            path.unlink()
        for name, text in texts.items():
            (place / name).write_text(text, encoding="utf-8")
    stored = {path.stem: path.read_text(encoding="utf-8") for path in place.glob("*.json")}
    told = [
        text
        for name in sorted(stored.keys() | answers.keys())
        if (text := _difference(f"{folder}/{name}", stored.get(name), answers.get(name)))
    ]
    assert not told, (
        f"{len(told)} of {len(answers)} frozen answers changed; where that is meant, "
        "`HORNBOOK_FREEZE=write pytest tests/frozen` stores them anew:\n\n" + "\n".join(told)
    )


def _difference(name: str, stored: str | None, answer: object) -> str:
    if stored is None:
        return f"{name}: is not stored"
    if answer is None:
        return f"{name}: is stored, and nothing answers so any more"
    now = rendered(answer)
    if now == stored:
        return ""
    lines = list(
        difflib.unified_diff(
            stored.splitlines(), now.splitlines(), f"{name} stored", f"{name} now", lineterm="", n=2
        )
    )
    more = [f"… and {len(lines) - MOST_LINES} lines more"] if len(lines) > MOST_LINES else []
    return "\n".join([*lines[:MOST_LINES], *more]) + "\n"

"""SARIF 2.1.0 as every answer of ours is written in it: the log, its rules and its results."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from urllib.parse import quote

from hornbook.review.formats.plain_text import clipped, plain

Part = dict[str, object]
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
# What GitHub code scanning keeps of a text.
NAME_LIMIT = 255
DESCRIPTION_LIMIT = 1024
MESSAGE_LIMIT = 8000
_LINK = re.compile(r"\[(?=[^\[\]\n]*\]\()")


def log(
    kind: str,
    rules: Sequence[Part],
    results: Sequence[Part],
    *,
    version: str,
    invocation: Part,
    more: Mapping[str, object],
) -> Part:
    """A log with one run: what was asked (`review`, `doctor`), its rules and its results."""
    places = {rule["id"]: index for index, rule in enumerate(rules)}
    seen: Counter[tuple[str, str, str]] = Counter()
    for each in results:
        each["ruleIndex"] = places[each["ruleId"]]
        each["partialFingerprints"] = {"hornbookFinding/v1": _fingerprint(each, seen)}
    run: Part = {
        "tool": {
            "driver": {
                "name": "hornbook",
                "version": version,
                "rules": list(rules),
            }
        },
        "automationDetails": {"id": f"hornbook/{kind}/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "originalUriBaseIds": {
            "%SRCROOT%": {"description": {"text": "The root of the reviewed repository."}}
        },
        "results": list(results),
        **more,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def descriptor(rule_id: str, meaning: str, severity: str) -> Part:
    """A rule that is ours and not a team's."""
    return {
        "id": rule_id,
        "name": identifier(rule_id),
        "shortDescription": {"text": meaning},
        "fullDescription": {"text": meaning},
        "help": {"text": meaning},
        "defaultConfiguration": {"level": level_of(severity)},
    }


def identifier(rule_id: str) -> str:
    """A name for a rule in the words of its id."""
    last = re.split(r"[./]", rule_id)[-1]
    words = re.findall(r"[^\W_]+", last) or re.findall(r"[^\W_]+", rule_id)
    return "".join(word[:1].upper() + word[1:] for word in words)[:NAME_LIMIT] or "Rule"


def level_of(severity: str) -> str:
    """SARIF's word for a severity."""
    return LEVELS.get(severity, "error")


def result(rule_id: str, kind: str, level: str, message: str, location: Part) -> Part:
    """A result; only one that fails has a level."""
    return {
        "ruleId": rule_id,
        "kind": kind,
        "level": level if kind == "fail" else "none",
        "message": {"text": message_text(message)},
        "locations": [location],
    }


def location(path: str, line: int | None) -> Part:
    """A place; a whole file is shown at its first line."""
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri(path), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": max(line or 1, 1)},
        }
    }


def uri(path: str) -> str:
    """The path percent-encoded byte for byte, those that are not UTF-8 included."""
    return quote(path.encode("utf-8", "surrogateescape" if _escaped(path) else "surrogatepass"))


def _escaped(path: str) -> bool:
    return not re.search("[\ud800-\udc7f\udd00-\udfff]", path)


def message_text(text: str) -> str:
    """Plain text; a link in it is no link, because it is a model's."""
    return _LINK.sub(r"\\[", clipped(plain(text).strip(), MESSAGE_LIMIT)) or "(no message)"


def _fingerprint(result: Part, seen: Counter[tuple[str, str, str]]) -> str:
    """Stable while lines move and models reword: the rule, the file, the n-th one there."""
    place = json.dumps(result["locations"]).partition('"region"')[0]
    facts = result.get("properties")
    unit = facts.get("unit") if isinstance(facts, dict) else None
    key = (str(unit or result["ruleId"]), str(result["kind"]), place)
    seen[key] += 1
    return sha256(json.dumps([*key, seen[key]]).encode()).hexdigest()[:32]

"""JSON schemas: of a review as a reviewer writes it, and of the answer of `review check`."""

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any  # a JSON schema is a tree of any values

REVIEW = "review.v1.json"
ANSWER = "review-validator.v1.json"


def review_schema(sop_ids: Iterable[str]) -> dict[str, Any]:
    """The schema of a review over these rules: each is answered, and no other can be.

    It holds to what constrained decoding of model providers knows: every key is required,
    none may be added. That each rule is answered once is for the check to see.
    """
    ids = sorted(set(sop_ids))
    schema: dict[str, Any] = json.loads(schema_text(REVIEW))
    del schema["$id"]
    answers = schema["properties"]["sop_review"]
    answers |= {"minItems": len(ids), "maxItems": len(ids)}
    if ids:
        schema["$defs"]["entry"]["properties"]["sop_id"]["enum"] = ids
    return schema


@cache
def schema_text(name: str) -> str:
    """The text of a shipped schema."""
    return files("hornbook.review").joinpath("schemas", name).read_text(encoding="utf-8")

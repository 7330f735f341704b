"""Whether a review says another verdict than its own, somewhere else and in other words.

A verdict may be told a second time: in prose around the JSON, as YAML, a table or a tag, in the
object that wraps the review, in a key that means nothing here, in the feedback. Where that is the
other verdict nobody knows which one is meant, so that a person decides. What is said of inputs,
of other changes, or of what would be if, is no verdict.
"""

import re
from collections.abc import Iterator, Mapping

from hornbook.review.judgement import Review, Verdict

_MARKS = r"""[\s"'`*_]{0,6}"""
_SIGN = r"(?:[:=|>]|\bis\b(?: to)?|\bto be\b|->|→)"
_AGAINST_WORD = r"reject\w*|refus\w+|den(?:y|ied)\b|declin\w+|rejet\w+|(?:request(?:ing)? )?changes"
_END = r"""(?=[\s"'`*_]*(?:[.,;:!()|<\-–—]|$|\b(?:because|by|as|for)\b))"""
# A verdict by its name: `verdict: rejected`, `"verdict" = 'approved'`, `<verdict>rejected`. Other
# names are of other things too, so that nothing may follow which says what is rejected.
_TOLD = re.compile(
    rf"""\b(?:verdict|decision|conclusion|recommendation|assessment|final answer)\b{_MARKS}"""
    rf"""{_SIGN}{_MARKS}(?:(?P<against>{_AGAINST_WORD})|(?P<for>approv\w*))|"""
    rf"""\b(?:outcome|status|result|review)\b{_MARKS}{_SIGN}{_MARKS}"""
    rf"""(?:(?P<against2>{_AGAINST_WORD})|(?P<for2>approv\w*)){_END}|"""
    r"""^\W{0,8}(?:(?P<against3>rejected)|(?P<for3>approved))\W*$""",
    re.IGNORECASE | re.MULTILINE,
)
# What nobody says who approves. That an input is rejected says nothing of the change.
_CHANGE = r"(?:this|it|the (?:change|pr|patch|diff|commit|work)|(?:change|pr|patch|diff|commit))"
_AGAINST = re.compile(
    rf"""(?:^|[.!?]\s+)(?:please\s+)?reject(?:ed|ing)?\b(?=\s*(?:[:.!,]|$|\b{_CHANGE}\b))|"""
    rf"""\b(?:i|we)\s+(?:must|have to|would|will|cannot but|am going to|do)?\s*reject\b|"""
    rf"""\b{_CHANGE}\s+(?:must|should|has to|needs to|ought to)\s+be\s+rejected\b|"""
    rf"""\bthe (?:change|pr|patch|diff|commit) is rejected\b|"""
    rf"""\b(?:do not|don['’]t|cannot|can['’]t|must not|should not|shouldn['’]t)\s+(?:be\s+)?"""
    rf"""(?:merged?|approved?|shipped?)\b|"""
    rf"""\bnot\s+(?:ready|safe|fit)\s+(?:to|for)\s+(?:be\s+)?(?:merg|production|ship|approv)\w*|"""
    rf"""\b(?:requesting|request)\s+changes\b|(?<!\bno )\bchanges\s+(?:are\s+)?requested\b|"""
    rf"""\bmust be fixed before\b|\bthis is a rejection\b|^\W*nack\b|"""
    rf"""\brejection_type\b{_MARKS}[:=]{_MARKS}(?:fixable|misscoped|architectural|too_big)\b|"""
    rf"""\b(?:approved?|passed|mergeable){_MARKS}[:=]{_MARKS}(?:false|no)\b|"""
    rf"""\brejected?{_MARKS}[:=]{_MARKS}(?:true|yes)\b""",
    re.IGNORECASE | re.MULTILINE,
)
_CONDITIONAL = re.compile(r"\b(?:if|unless|otherwise|had|were)\b", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:nothing|not|no|never|none|nor|without|don['’]t)\b[^,;:]*$", re.IGNORECASE
)
_NEAR = 40
_SENTENCE_END = re.compile(r"[.!?\n]")
MOST_TOLD = 200
LONGEST_TOLD = 2000


def contradiction(review: Review, around: str) -> str:
    """Where a review says another verdict than its own, in words; empty if nowhere."""
    for where, text in (("beside the review", around), ("`feedback`", review.feedback)):
        said = next(_against(text, review.verdict), None)
        if said is not None:
            shown = " ".join(said.split())
            return f"The verdict is {review.verdict}, and {where} says {shown!r}: a person decides."
    return ""


def _against(text: str, verdict: Verdict) -> Iterator[str]:
    approves = verdict is Verdict.APPROVED
    for told in _TOLD.finditer(text):
        if (told.lastgroup or "").startswith("against") is approves:
            yield told[0]
    for said in _AGAINST.finditer(text) if approves else ():
        if not _is_denied(said):
            yield said[0]


def _is_denied(said: re.Match[str]) -> bool:
    """Whether it is said not to be so, or of what would be: `I would reject it if it panicked`."""
    before = _SENTENCE_END.split(said.string[: said.start()])[-1]
    after = _SENTENCE_END.split(said.string[said.end() :])[0]
    if "would" in said[0].lower() and _CONDITIONAL.search(before + after):
        return True
    return _DENIED.search(before[-_NEAR:]) is not None


def told_besides(facts: Mapping[str, object]) -> str:
    """What keys that mean nothing to a review say, a line each: a verdict may be among them."""
    plain = (str, bool, int, float)
    told = (f"{key}: {value}" for key, value in facts.items() if isinstance(value, plain))
    return "\n".join(line[:LONGEST_TOLD] for line, _ in zip(told, range(MOST_TOLD), strict=False))

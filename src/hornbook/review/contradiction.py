"""Whether a review says another verdict than its own, somewhere else and in other words.

A verdict may be told a second time: in prose around the JSON, as YAML, a table or a tag, in the
object that wraps the review, in a key that means nothing here, in the feedback. Where that is the
other verdict nobody knows which one is meant, so that a person decides. What is said of inputs,
of other changes, or of what would be if, is no verdict.
"""

import re
from collections.abc import Iterator, Mapping

from hornbook.review.evidence.languages import REJECTING
from hornbook.review.judgement import Review, Status, Verdict

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
# What keeps a change out, said in other words than those of a verdict.
_LET_IN = (
    r"(?:(?:be\s+|get\s+)?(?:merged|landed|shipped|released|deployed|accepted|integrated|approved)|"
    r"(?:merge|land|ship|proceed)|go\s+(?:in|out|live|through|forward|ahead))\b"
)
_NOT = r"(?:cannot|can['’]t|must\s*n[o'’]t|should\s*n[o'’]t|may\s+not|shall\s+not|is\s+not\s+to)"
_SOME_CHANGE = (
    r"(?:this|it|(?:this|the)\s+(?:change|pr|patch|diff|commit|work|branch|merge)|merging|landing)"
)
_MENDED = (
    r"(?:fixed|changed|corrected|resolved|addressed|reworked|rewritten|removed|repaired|solved)"
)
_HELD_BACK = (
    rf"\b{_SOME_CHANGE}\s+{_NOT}\s+(?:yet\s+)?{_LET_IN}|"
    r"\b(?:do\s+not|don['’]t)\s+(?:yet\s+|ever\s+|just\s+)?(?:merge|land|ship|approve)\b|"
    rf"(?:^|[.!?:;,–—-]\s*|\b{_SOME_CHANGE}\s+is\s+)not\s+(?:yet\s+)?ready\b|"
    rf"\b{_SOME_CHANGE}\s+isn['’]t\s+(?:yet\s+)?ready\b|"
    rf"\bhold\s+off\b|\b(?:hold|park|shelve|postpone|pause|stop)\s+{_SOME_CHANGE}\b|"
    r"\b(?:blockers?|show-?stoppers?|deal-?breakers?|must[- ]fix(?:es)?|blocking\s+"
    r"(?:issues?|problems?|comments?|findings?|concerns?|defects?))\b|"
    r"\b(?:must|has\s+to|have\s+to|needs?\s+to|should|ought\s+to)\s+(?:first\s+)?be\s+"
    rf"{_MENDED}\b[^.\n]{{0,40}}\b(?:first\b|(?:before|prior\s+to)\s+(?:{_SOME_CHANGE}|we|i|"
    r"merge|approv\w+|shipping|going)\b)|"
    rf"\bbefore\s+{_SOME_CHANGE}\s+(?:can|may|could)\s+{_LET_IN}|"
    r"\b(?:i|we)(?:['’]d|['’]ll|\s+would|\s+will)\s+(?:have\s+to\s+)?revert\s+(?:this|it)\b|"
    r"\b(?:needs?|requires?|wants?)\s+(?:another|a\s+second|one\s+more|a\s+new)\s+"
    r"(?:round|pass|iteration|revision|attempt|version)\b|"
    r"\bback\s+to\s+(?:the\s+)?(?:authors?|developers?|drawing\s+board)\b|"
    r"^[-−–][12](?=\s*(?:$|[.,!]|from\b))|\b(?:vote|review|score)\s*:?\s*[-−–][12]\b"
)
# What nobody says who approves. That an input is rejected says nothing of the change.
_CHANGE = r"(?:this|it|the (?:change|pr|patch|diff|commit|work)|(?:change|pr|patch|diff|commit))"
_AGAINST = re.compile(
    rf"""(?:^|[.!?]\s+)(?:please\s+)?(?:reject(?:ed|ing)?|refused?)\b"""
    rf"""(?=\s*(?:[:.!,]|$|\b{_CHANGE}\b))|"""
    rf"""\b(?:i|we)\s+(?:must|have to|would|will|cannot but|am going to|do)?\s*"""
    rf"""(?:reject|refuse)\b|"""
    rf"""\brefuse\s+(?:(?:this|the)\s+(?:change|pr|patch|diff|commit)|"""
    rf"""to\s+(?:approve|merge|sign))\b|"""
    rf"""\b{_CHANGE}\s+(?:must|should|has to|needs to|ought to)\s+be\s+rejected\b|"""
    rf"""\bthe (?:change|pr|patch|diff|commit) is rejected\b|"""
    rf"""\b(?:cannot|can['’]t|must not|should not|shouldn['’]t)\s+(?:be\s+)?"""
    rf"""(?:merged?|approved?|shipped?)\b|"""
    rf"""\bnot\s+(?:ready|safe|fit)\s+(?:to|for)\s+(?:be\s+)?(?:merg|production|ship|approv)\w*|"""
    rf"""\b(?:requesting|request)\s+changes\b|(?<!\bno )\bchanges\s+(?:are\s+)?requested\b|"""
    rf"""\bnot\s+approv(?:ed|ing|able)\b|\b(?:un|dis)approved\b|"""
    rf"""\bwithh[eo]ld\w*\s+approval\b|\bno\s+approval\b(?=\s*(?:[.,;:!()–—]|-\s|$|"""
    rf"""\b(?:from|yet|until|unless|before|while|without|because|as|since|here|now|possible|"""
    rf"""(?:(?:is|can be|will be)\s+)?(?:given|granted)|is\s+possible|"""
    rf"""(?:of|for)\s+(?:mine|{_CHANGE}))\b))|"""
    rf"""\bcannot\s+sign\s+off\b|\b(?:needs?|requires?)\s+(?:more\s+)?(?:work|changes|fixing|"""
    rf"""rework)\s+before\b|"""
    rf"""\b(?:before|until)\s+(?:this|it|the (?:change|pr|patch))\s+(?:can|may|"""
    rf"""could)\s+be\s+(?:merged|approved|shipped)\b|"""
    rf"""^\W*block(?:er|ing)\s*:|{REJECTING}|{_HELD_BACK}|"""
    rf"""\bmust be fixed before\b|\bthis is a rejection\b|^\W*nack\b|"""
    rf"""\brejection_type\b{_MARKS}[:=]{_MARKS}(?:fixable|misscoped|architectural|too_big)\b|"""
    rf"""\b(?:approved?|passed|mergeable){_MARKS}[:=]{_MARKS}(?:false|no)\b|"""
    rf"""\brejected?{_MARKS}[:=]{_MARKS}(?:true|yes)\b""",
    re.IGNORECASE | re.MULTILINE,
)
# Who saw none of the change is blind; who saw no problem looked for one.
_SEEN = (
    r"""seen?(?!\s+any\s+(?!(?:of\s+)?(?:(?:the|this|these|actual|real|source|changed)\s+)*"""
    r"""(?:it|them|this|that|code|sources?|diffs?|changes?|files?|patch(?:es)?|lines?|hunks?|"""
    r"""contents?|text|implementation|tests?)\b(?!\s+(?:(?:that|which)\s+(?!(?:you|i|we|the|was|"""
    r"""were|has|have|had|changed)\b)|(?:smells?|fail\w*|violat\w+|br[eo]ak\w*|broken|leak\w*|"""
    r"""problems?|issues?|errors?|regress\w+|conflicts?)\b))))"""
)
# A review that says of itself that it was written without looking.
_BLIND = re.compile(
    r"""\b(?:i|we)\s+(?:did\s+not|didn['’]t|have\s+not|haven['’]t|could\s+not|couldn['’]t|"""
    r"""was\s+unable\s+to|"""
    r"""were\s+unable\s+to|cannot|can['’]t|was\s+not\s+able\s+to)\s+(?:really\s+|actually\s+|"""
    r"""fully\s+)?"""
    rf"""(?:look(?:ed)?\s+at|read|open(?:ed)?|{_SEEN}|access(?:ed)?|view(?:ed)?|check(?:ed)?|"""
    r"""inspect(?:ed)?|review(?:ed)?|verif(?:y|ied))\s+"""
    r"""(?:the|this|any|all|most|some|these|what)\b"""
    # Code by its name, and what stands around a change, is no part of it.
    r"""(?!\s+(?:`|callers?\b|call\s+sites?\b|definitions?\s+of\b|rest\s+of\b))|\b(?:am|are|just|only|merely)\s+guessing\b|"""
    r"""\bwithout\s+(?:having\s+)?"""
    r"""(?:look(?:ed|ing)|read(?:ing)?|review(?:ed|ing)|check(?:ed|ing))\s+(?:at\s+)?(?:the|"""
    r"""this|it|any)\b|"""
    r"""\bnicht\s+(?:gelesen|angesehen|gepr[üu]ft)\b""",
    re.IGNORECASE,
)
# What a model thinks aloud before it answers: there it weighs both verdicts, and gives none.
_THOUGHTS = re.compile(
    r"<(think|thinking|reasoning|scratchpad)>.*?</\1>", re.DOTALL | re.IGNORECASE
)
_CONDITIONAL = re.compile(
    r"\b(?:if|unless|otherwise|had|were|"
    r"(?:a|any) (?:change|pr|patch|diff|commit) (?:that|which))\b",
    re.IGNORECASE,
)
# What nobody says of a rule that is kept.
_BROKEN = re.compile(
    r"\b(?:violates|breaks|breaches|contravenes|goes against)\s+(?:the|this|that|our)\s+"
    r"(?:rule|sop|requirement|policy|guideline)\b|\b(?:is|are)\s+(?:a\s+)?(?:clear\s+)?"
    r"violations?\s+of\b|\b(?:is|are)\s+(?:not\s+|non-)compliant\b|"
    r"\b(?:the|this) rule is (?:violated|broken|not kept)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:nothing|not|no|non|never|none|nor|without|zero|0|don['’]t|former|earlier|previous)\b"
    r"(?:(?!\bbut\b|\s-+\s)[^,;:–—])*$",
    re.IGNORECASE,
)
# What is counted and not there, or was there and is not any more: `blockers: none`.
_SETTLED = re.compile(
    r"^\W*(?:none|no|nil|0|n/a|keine|aucun\w*|ningun\w*)\b|"
    r"\b(?:is|are|was|were|has been|have been|now|all)\s+(?:now\s+|all\s+)?"
    r"(?:fixed|gone|resolved|addressed|solved|settled|mended)\b",
    re.IGNORECASE,
)
# A condition that holds for what follows: `ask if we reject it`. After a pause or a conclusion it
# holds no longer: `if merged, it breaks: do not merge`.
_CONDITION = re.compile(r"\b(?:if|unless|wenn|si|falls)\b", re.IGNORECASE)
_PAUSE = re.compile(r"[,;:()–—]|\s-+\s|\b(?:and|but|so|then|therefore)\b", re.IGNORECASE)
_AWAITED = re.compile(r"\b(?:until|till|before|once|unless|when|after|if)\b", re.IGNORECASE)
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
    blind = _BLIND.search(review.feedback) if review.verdict is Verdict.APPROVED else None
    if blind is not None:
        return f"The verdict is approved, and `feedback` says {blind[0]!r}: a person decides."
    for entry in review.entries if review.verdict is Verdict.APPROVED else ():
        broken = _BROKEN.search(entry.evidence) if entry.status is Status.PASSED else None
        if broken is not None and not _is_denied(broken):
            return (
                f"The status of {entry.sop_id} is passed, and its evidence says {broken[0]!r}: "
                "a person decides."
            )
    return ""


def _against(text: str, verdict: Verdict) -> Iterator[str]:
    approves = verdict is Verdict.APPROVED
    for told in _TOLD.finditer(text):
        if (told.lastgroup or "").startswith("against") is approves:
            yield told[0]
    for said in _AGAINST.finditer(_THOUGHTS.sub(" ", text)) if approves else ():
        if not _is_denied(said):
            yield said[0]


def _is_denied(said: re.Match[str]) -> bool:
    """Whether it is said not to be so, or of what would be: `I would reject it if it panicked`."""
    before = _SENTENCE_END.split(said.string[: said.start()])[-1]
    after = _SENTENCE_END.split(said.string[said.end() :])[0]
    if "would" in said[0].lower() and _CONDITIONAL.search(before + after):
        return True
    if _CONDITION.search(_PAUSE.split(before)[-1]):
        return True
    settled = _SETTLED.search(after)
    if settled is not None and not _AWAITED.search(after[: settled.start() + 1]):
        return True
    return _DENIED.search(before[-_NEAR:]) is not None


def told_besides(facts: Mapping[str, object]) -> str:
    """What keys that mean nothing to a review say, a line each: a verdict may be among them."""
    plain = (str, bool, int, float)
    told = (
        f"{key.replace('_', ' ')}: {value}"
        for key, value in facts.items()
        if isinstance(value, plain)
    )
    return "\n".join(line[:LONGEST_TOLD] for line, _ in zip(told, range(MOST_TOLD), strict=False))

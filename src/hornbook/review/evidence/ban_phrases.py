"""The phrases in which rules forbid code, as patterns over sentences whose code is taken out.

Each phrase stands with a cue, which must be in a sentence for the phrase to be tried, since most
are not there. A phrase has the group `list`, the code that it is about; `verb` and `put` say what
is not to be done with it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hornbook.review.evidence.file_kinds import words_of
from hornbook.review.evidence.languages import FORBIDDING, FORBIDDING_SIGNS

_FORBIDS = re.compile(
    r"\b(?:not|never|no|none|avoid\w*|cannot|without|stop|forbid\w*|bann?ed|prohibit\w*|refrain|"
    rf"disallow\w*|illegal|reject\w*|unacceptable|deprecated|out of|off limits|no place|"
    rf"{FORBIDDING})\b|n['’]t\b|"
    rf"{FORBIDDING_SIGNS}",
    re.IGNORECASE,
)
_ORDERS = re.compile(r"\b(?:must|shall|always|every|all|has to|have to|needs?)\b", re.IGNORECASE)
_AHEAD = 8
_SCRIPT = words_of("js jsx mjs cjs ts tsx mts cts vue svelte")
_PYTHON = words_of("py pyi")


@dataclass(frozen=True, slots=True)
class _Concept:
    """The words that mean something, and a pattern for lines that have it.

    With `raw` remarks are looked at too; `kinds` are the files in which it can be seen, all if
    there are none.
    """

    said: str
    form: str
    kinds: frozenset[str] = frozenset()
    raw: bool = False
    asked: bool = False
    """Whether it lacks what a rule asks for, so that the sentence is an order to have that."""
    ahead: bool = False
    """Whether the lines that follow are read with it."""


_HIDDEN_NAME = r"(?:password|passwd|pwd|secret|api_?key|access_?key|token|private_?key|credential)"
_VALUE = r"[\"'][^\"'\s{}$<>]{8,}[\"']"
_CONCEPTS = {
    "a secret": _Concept(
        r"\b(?:secrets?|credentials?|passwords?|api[ -]?keys?|tokens?|private keys?)\b"
        r"(?=.*\b(?:code|sources?|repo\w*|commit\w*|hard-?cod\w*|stand|check\w* in|scripts?|git|"
        r"literals?|"
        r"plain\w*|files?)\b|\s*[.!]?\s*$)|hard-?coded (?:\w+ )?(?:secret|credential|password|"
        r"key|token)",
        rf"(?i:{_HIDDEN_NAME}\w*(?:\s*:\s*\w+)?\s*(?::=|=)\s*{_VALUE}|"
        rf"{_HIDDEN_NAME}\w*[\"']\s*[:\]][\s=]*{_VALUE}|"
        rf"{_HIDDEN_NAME}\w*\s*:\s*(?=\S*\d){_VALUE})|"
        r"\bAKIA[0-9A-Z]{12,}|\b(?:sk|pk|rk)_live_\w{8,}|\bgh[pousr]_\w{20,}|\bxox[baprs]-\w{8,}|"
        r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY",
    ),
    "code in a remark": _Concept(
        r"\bcommented[- ]out\b",
        r"^\s*(?:#|//|--)\s*(?:def \w|class \w+[(:{]|return\b.*[;)\w]$|(?:if|for|while)\b.*[:{]$|"
        r"import \w|"
        r"from \w+ import|(?:const|let|var|func|fn) \w|[\w.]+\(.*\)\s*;?$|[\w.]+ = \S+|SELECT |"
        r"\}\s*$)",
        raw=True,
    ),
    "a default export": _Concept(r"\bdefault exports?\b", r"^\s*export\s+default\b", _SCRIPT),
    "an enum": _Concept(r"\benums?\b", r"^\s*(?:export\s+)?(?:const\s+)?enum\s+\w"),
    "a print": _Concept(
        r"\bprint statements?\b|\bnot print\b|\bprints\b",
        r"(?<![\w.])print\s*\(|\bconsole\.(?:log|info|debug)\(|\bfmt\.Print\w*\(|"
        r"\bSystem\.out\.print|\bprintln!|^\s*puts\s",
    ),
    "a statement of the console": _Concept(
        r"\bconsole (?:logging|logs?|statements?|output|calls?)\b", r"\bconsole\.\w+\s*\(", _SCRIPT
    ),
    "an import of everything": _Concept(
        r"\b(?:wildcard|star) imports?\b",
        r"\bimport\s+\*\s*$|^\s*import\s+(?:static\s+)?[\w.]+\.\*\s*;",
    ),
    "a bare except": _Concept(r"\bbare excepts?\b", r"^\s*except\s*:", _PYTHON),
    "an error that is swallowed": _Concept(
        r"\b(?:swallow\w*|silenc\w+|suppress\w*|ignor\w+)\b(?=.*\b(?:errors?|exceptions?)\b)|"
        r"\b(?:errors?|exceptions?)\b(?=.*\b(?:swallowed|silenced|ignored)\b)|\bempty (?:catch|"
        r"except)",
        r"\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}|^\s*except\b[^:]*:\s*(?:pass|\.\.\.)\s*$|"
        r"\brescue\s+nil\b",
    ),
    "an inline style": _Concept(r"\binline styles?\b", r"\bstyle\s*=\s*[\"'{]"),
    "a mutable default": _Concept(
        r"\bmutable default", r"\bdef\s+\w+\(.*=\s*(?:\[|\{|set\(|dict\(|list\()", _PYTHON
    ),
    "a statement for debugging": _Concept(
        r"\bdebug(?:ging)?[ -](?:code|statements?|output|prints?|calls?|logs?)\b",
        r"\b(?:breakpoint|pdb\.set_trace|var_dump)\s*\(|\bdebugger\b|\bbinding\.pry\b|\bdbg!|"
        r"\bconsole\.(?:log|debug)\(",
    ),
    "a test that is skipped": _Concept(
        r"\bskip\w*\b(?=.*\btests?\b)|\btests?\b(?=.*\bskipped\b)",
        r"@(?:pytest\.mark\.|unittest\.)skip|\bpytest\.skip\(|\b(?:it|test|describe)\.skip\(|"
        r"\bx(?:it|describe)\(|"
        r"@(?:Disabled|Ignore)\b|\bt\.Skip\w*\(|#\[ignore\]",
    ),
    "SQL made of strings": _Concept(
        r"\b(?:sql|quer(?:y|ies))\b(?=.*\b(?:concatenat\w+|interpolat\w+|f-?strings?|format\w*|"
        r"string)\b)|"
        r"\b(?:concatenat\w+|interpolat\w+|format\w*)\b(?=.*\b(?:sql|quer(?:y|ies))\b)",
        r"(?i:[\"'`](?:select|insert|update|delete)\b[^\"'`]*[\"'`]\s*(?:\+|%|\.format\()|"
        r"f(?P<q>\"{3}|[\"'])\s*(?:select|insert|update|delete)\b(?:(?!(?P=q)).)*\{|"
        r"`\s*(?:select|insert|"
        r"update|delete)\b[^`]*\$\{|(?:sprintf|format!?)\s*\(\s*[\"`](?:select|insert|update|"
        r"delete)\b[^\"`]*[%{])",
    ),
    "a suppression": _Concept(
        r"\b(?:lint|linter|eslint|type[- ]check\w*|warnings?)\b(?=.*\b(?:suppress|disabl|silenc|"
        r"ignor)\w*\b)|"
        r"\bdisabl\w*\b(?=.*\blint)|\beslint-disable\b|\bts-ignore\b|\bnoqa\b|\bnolint\b",
        r"\beslint-disable\b|@ts-(?:ignore|expect-error|nocheck)\b|#\s*noqa\b|#\s*type:\s*ignore|"
        r"\bnolint\b|"
        r"@SuppressWarnings\b|#\[allow\(|\bNOLINT\b|#\s*pylint:\s*disable|rubocop:disable",
        raw=True,
    ),
    "an address": _Concept(
        r"\bhard-?cod\w* (?:\w+ )?(?:urls?|addresses|hosts?|endpoints?|ips?)\b",
        r"[\"'`](?:https?|postgres\w*|redis|mongodb|amqp)://(?!(?:www\.)?(?:schemas?|w3|"
        r"json-schema)\b)",
    ),
    "a global": _Concept(
        r"\bglobal (?:mutable )?(?:state|variables?)\b|\bglobals\b", r"^\s*global\s+\w", _PYTHON
    ),
    "a secret that is printed": _Concept(
        r"\b(?:echo|print|log)\w*\b(?=.*\b(?:secrets?|passwords?|tokens?)\b)|"
        r"\b(?:secrets?|passwords?|tokens?)\b(?=.*\b(?:logged|printed|echoed|logs?)\b)",
        r"\b(?:echo|print\w*|log\w*(?:\.\w+)?)\b[^\n]*(?:secrets\.|[Pp]assword|PASSWORD|"
        r"[Tt]oken\b|TOKEN)",
    ),
    "a sleep": _Concept(r"\bsleeps\b|\bnot sleep\b", r"\bsleep\s*\("),
    "a panic": _Concept(r"\bpanics\b|\bnot panic\b|\bnever panic\b", r"\bpanic!?\s*\("),
    "an unwrap": _Concept(r"\bunwraps\b|\bnot unwrap\b", r"\.unwrap\(\)"),
    "a command in backticks": _Concept(
        r"\bbackticks\b(?=.*\b(?:command|substitution|shell)\b)",
        r"`[^`]+`",
        words_of("sh bash zsh"),
    ),
}
_CONCEPTS |= {
    "a type that says nothing": _Concept(
        r"\bany\b(?=\s*(?:,|\band\b|\bor\b|types?\b|casts?\b))|\bcasts? to any\b",
        r":\s*any\b|\bas\s+any\b|<any>|\bany\[\]|\bArray<any|Record<\w+,\s*any>",
        _SCRIPT,
    ),
    "an assertion that something is there": _Concept(
        r"\bnon-?null assert\w*|\bdouble bang\b|\bbang operators?\b|\bforce[- ]unwrap\w*|"
        r"\bexclamation",
        r"[\w)\]]!(?=[.;,)\]])|!!(?=[.\s)]|$)|\w!$",
        _SCRIPT | words_of("kt kts swift dart cs"),
    ),
    "a download that is run": _Concept(
        r"\b(?:pip(?:e|ed|ing)\b(?=.*\b(?:shell|sh|bash)\b)|curl\b(?=.*\b(?:sh|bash)\b)|"
        r"download\w*\b"
        r"(?=.*\b(?:run|execut\w+|shell|pip\w+)\b))",
        r"\b(?:curl|wget|fetch)\b[^\n]*\|\s*(?:sudo\s+)?(?:\w+\s+)?(?:ba|z|da)?sh\b|\b(?:ba|"
        r"z)?sh\s+(?:-c\s+[\"']?\$\(|<\()\s*(?:curl|wget)",
    ),
    "a column or table that is dropped": _Concept(
        r"\b(?:columns?|tables?|fields?)\b(?=.*\b(?:drop\w*|remov\w+|delet\w+)\b)|\b(?:drop\w*|"
        r"remov\w+|delet\w+)\b(?=.*\b(?:columns?|tables?)\b)",
        r"(?i:\bdrop\s+(?:column|table)\b|\b(?:drop_(?:column|table)|remove_(?:column|field)|"
        r"RemoveField|DeleteModel)\b)",
    ),
    "an error of any kind that is caught": _Concept(
        r"\b(?:catch\w*|rescu\w+|except\w*)\b(?=.*\b(?:everything|exception|all|broad|generic|"
        r"too wide)\b)|\bswallow\w*|\bbroad excepts?\b|"
        r"\b(?:verschluck|avalé|tragar)\w*",
        r"\bexcept\s+(?:Base)?Exception\b|^\s*except\s*:|\brescue\s+Exception\b|"
        r"\bcatch\s*\(\s*(?:final\s+)?"
        r"(?:Exception|Throwable|\.\.\.)|\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}?\s*$",
    ),
    "a colour by its number": _Concept(
        r"\bhex(?:adecimal)?\b|\bcolou?rs?\b(?=.*\b(?:variables?|tokens?|hard-?cod\w+)\b)",
        r":\s*[^;]*#[0-9a-fA-F]{3,8}\b",
        words_of("css scss less sass vue svelte tsx jsx html"),
    ),
    "something that is open to the world": _Concept(
        r"\bopen to (?:the world|everybody|everyone|the internet)\b|"
        r"\bpublic(?:ly)? (?:accessible|reachable)\b",
        r"0\.0\.0\.0/0|::/0|publicly_accessible\s*=\s*true|acl\s*=\s*\"public",
    ),
    "a secret that is logged": _Concept(
        r"\b(?:passw[oö]rt\w*|schlüssel|geheimnis\w*|mots? de passe|contraseñas?|personal data|"
        r"mails?|e-mails?|addresses)\b"
        r"(?=.*(?:\b(?:protokoll\w*|log\w*|journal\w*|registr\w*)\b))|密码.*日志|"
        r"\blog\w*\b(?=.*\b(?:personal data|mails?|e-mails?|addresses)\b)",
        r"(?i:\b(?:log|logger|logging|journal|print|console|echo|slog)\w*\b[^\n]*(?:passw|"
        r"kennwort|secret|token|schluessel|contrase|mail|address|phone|iban))",
    ),
}
_CONCEPTS |= {
    "a function without a docstring": _Concept(
        r"\bdocstrings?\b",
        r"^\s*(?:async\s+)?def\s+(?!_)\w+\((?:[^()]|\([^()]*\))*\)[^:\n]*:[ \t]*\n\s*(?!\s|"
        r"[rRuUbB]{0,2}[\"'])",
        _PYTHON,
        asked=True,
        ahead=True,
    ),
    "a function without types": _Concept(
        r"\b(?:type hints?|type annotations?|annotated with types|fully typed|typed signatures?)\b",
        r"^\s*(?:async\s+)?def\s+\w+\((?:(?:self|cls)\s*,\s*)?(?!self\b|cls\b)[a-z]\w*\s*[,)=]",
        _PYTHON,
        asked=True,
    ),
}
_SAID = {name: re.compile(each.said, re.IGNORECASE) for name, each in _CONCEPTS.items()}
_FORM = {name: re.compile(each.form) for name, each in _CONCEPTS.items()}
# What stands where a secret would: a name for it, or something that says that it is none.
_NO_SECRET = re.compile(
    r"(?i:example\.|changeme|placeholder|your[-_ ]|dummy|fake|x{4,}|redacted|env\b|getenv|\*{3})"
)


def concepts(said: str) -> Iterator[str]:
    """The names of what a sentence forbids in words."""
    forbids, orders = _FORBIDS.search(said), _ORDERS.search(said)
    for name, form in _SAID.items() if forbids or orders else ():
        asked = orders and not forbids
        if (asked if _CONCEPTS[name].asked else forbids) and form.search(said):
            yield name


def in_tests(name: str) -> bool:
    """Whether it matters in tests too: there secrets are made up, and functions explain nothing."""
    return name != "a secret" and not _CONCEPTS[name].asked


def stands_for(
    name: str, kind: str, told: Sequence[str], raw: Sequence[str], number: int
) -> bool | None:
    """Whether a line has what a concept means (True), or not (None)."""
    concept = _CONCEPTS[name]
    if concept.kinds and kind not in concept.kinds:
        return None
    lines = (raw if concept.raw else told)[
        number - 1 : number - 1 + (_AHEAD if concept.ahead else 1)
    ]
    line = "\n".join(lines)
    if not _FORM[name].search(line):
        return None
    return None if name == "a secret" and _NO_SECRET.search(line) else True


C = "\ue000(\\d+)\ue001"
PIECE = "\ue000\\d+\ue001"
# Of blanks and a sign that may be missing the sign holds the blanks behind it: else each blank can
# be read in two ways, and a list of twenty in a million.
BETWEEN = r"(?:,\s*(?:and|or|nor)\b|,|/|\bor\b|\band\b|\bnor\b)"
LIST = rf"(?P<list>{PIECE}(?:\s*(?:{BETWEEN}\s*)?{PIECE})*)"
DIRECT = (
    "us(?:e|ing)|call(?:ing)?|invok(?:e|ing)|import(?:ing)?|writ(?:e|ing)|add(?:ing)?|"
    "introduc(?:e|ing)|print(?:ing)?|log(?:ging)?|block(?:ing)?|rais(?:e|ing)|throw(?:ing)?|"
    "catch(?:ing)?|rescu(?:e|ing)|swallow(?:ing)?|declar(?:e|ing)|defin(?:e|ing)|silenc(?:e|ing)|"
    "set(?:ting)?|read(?:ing)?|access(?:ing)?|instantiat(?:e|ing)|construct(?:ing)?|"
    "return(?:ing)?|pass(?:ing)?|contain|leav(?:e|ing)|commit(?:ting)?|merg(?:e|ing)|ship|"
    "allow(?:ing)?|export(?:ing)?|referenc(?:e|ing)|employ|emit(?:ting)?|embed(?:ding)?|"
    "rely(?:ing)? on|depend(?:ing)? on|assign(?:ing)? to|print(?:ing)? to|writ(?:e|ing) to|"
    "log(?:ging)? to|import(?:ing)? from|inherit(?:ing)? from|extend(?:ing)?|subclass(?:ing)?|"
    "reach(?:ing)? for|accept(?:ing)?"
)
NOT = (
    r"(?:\b(?:must|should|shall|may|can|do)\s+(?:not|never)|\bcannot|"
    r"\b(?:mustn|shouldn|don|can)['’]t|\bnever|\brefrain\s+from|\bstop|\bat\s+no\s+time|"
    r"\b(?:stay|keep)\s+away\s+from|\b(?:steer|stay)\s+clear\s+of|\bget\s+rid\s+of|\bsay\s+no\s+to|"
    r"\b(?:a\s+mistake|an\s+error|wrong|bad\s+(?:practice|style|form))\s+to|"
    r"\b(?:forbidden|prohibited|not\s+allowed|not\s+permitted|disallowed|illegal)\s+to|"
    r"\bunder\s+no\s+circumstances(?:\s+(?:may|should|must|do)(?:\s+(?:you|we|code))?)?)"
    r"(?:\s+(?:ever|directly|simply|just|also|even))*"
)
FILL = (
    r"(?:(?:the|a|an|any|all|bare|raw|plain|it|them|direct|inline|stray|explicit|global|old|"
    r"legacy|errors?|exceptions?|methods?|functions?|types?|modules?|packages?|class(?:es)?|"
    r"libraries|library|directly|either|both|things?|like|such\s+as|calls?|to|of|uses?|"
    r"statements?|decorators?|operators?|keywords?|by|with)\s+)*"
)
NOUNS = r"(?:\s+[a-z-]+){0,2}?"
_WHERE = (
    r"(?P<where>\s+(?:outside(?:\s+of)?|in|inside(?:\s+of)?|on|for|with|within)\s+"
    r"(?:[\w/-]+\s+){0,2}?[\w/-]+)?"
)
MOSTLY = r"(?:\s+(?:\w+ly|never|ever))?"
PUT = (
    "used|called|invoked|imported|written|added|introduced|printed|logged|raised|thrown|caught|"
    "committed|merged|left|returned|set|read|accessed|assigned|allowed|present|seen|found|"
    "employed|relied\\s+on|referenced|checked\\s+in|shipped"
)
DECLARED = (
    rf"(?:(?:is|are){MOSTLY}\s+(?:forbidden|prohibited|banned|disallowed|denied|illegal|taboo|"
    r"unacceptable|off[ -]limits|"
    r"not\s+(?:allowed|permitted|acceptable|accepted|ok(?:ay)?|tolerated|to\s+be\s+used)|"
    r"never\s+(?:allowed|permitted|acceptable|accepted|ok(?:ay)?|fine|right)|rejected)|"
    r"ha(?:s|ve)\s+been\s+(?:forbidden|banned|prohibited|disallowed)|"
    r"(?:is|are)n['’]t\s+(?:allowed|permitted|acceptable|accepted|ok(?:ay)?)|"
    r"will\s+not\s+be\s+(?:accepted|merged|allowed)|(?:must|should)\s+be\s+removed|"
    rf"(?:must|should|may|shall|can)\s+(?:not|never)(?:\s+ever)?\s+(?:be\s+(?P<put>{PUT})|stay|"
    r"remain|appear|occur|exist|stand|show\s+up|reach|enter|land)|"
    rf"cannot\s+be\s+(?:{PUT})|ha(?:s|ve)\s+no\s+place|will\s+be\s+rejected|"
    r"(?:[^\ue000.;]{0,40}\band\s+)(?:will\s+be\s+rejected|(?:is|are)\s+(?:forbidden|banned|"
    rf"not\s+(?:allowed|permitted|accepted))|(?:must|may|should)\s+(?:not|"
    rf"never)\s+be\s+(?:{PUT})))\b"
)
# "Do not use it.", "It is forbidden": of what the sentence before is about.
AGAIN = (
    r"\b(?:it|them|these|this|they)\b",
    (
        rf"^\W*(?:so\s+|please\s+|therefore,?\s+|and\s+)?(?:{NOT}\s+(?:use|call|import|write|"
        rf"do)\s+(?:it|them|this|that|these)"
        rf"(?=\s*(?:[.;!,:]|$|\b(?:here|anywhere|ever|anymore|at\s+all)\b))|(?:it|they|this|"
        rf"these)\s+{DECLARED})"
    ),
)
MAY = r"(?:may|must|should|can|shall|is\s+allowed\s+to)"
THROUGH = r"(?:with|via|using|through|by\s+means\s+of)"
EG = r"(?:(?:e\.g\.,?|i\.e\.,?|such\s+as|like|for\s+example,?)\s*)?"
OTHER = r"(?!(?:push|commit|edit|modify|chang|merg|delet|remov|renam|forget|omit|skip|pip)\w*\b)"
KEPT = r"(?:keep|kept|stor(?:e|ed|ing)|put|plac(?:e|ed)|hold|held|sav(?:e|ed)|persist(?:ed)?)"
DENIED = (
    r"away\s+from|clear\s+of|rid\s+of|no\s+to\b|(?:mistake|error|wrong|practice|style|form)\s+to\b|"
    r"not\b|n['’]t\b|never|cannot|refrain|stop|no\s|"
    r"(?:forbidden|prohibited|illegal|disallowed)\s+to"
)
TOLD_OFF = (
    r"forbid|prohib|bann|disallow|illegal|taboo|accept|off.limits|n[o'’]t|never|no\s+place|"
    r"reject|deni|remov"
)
# Each phrase with what must stand in a sentence for it to be tried, since most are not there.
PHRASES = (
    # "Never use `any`", "never `panic`", "do not print to `System.out`".
    (DENIED, rf"{NOT}\s+(?:(?P<verb>{DIRECT})\s+)?{FILL}{LIST}"),
    ("avoid", rf"\bavoid(?:ing)?\s+(?:(?P<verb>{DIRECT})\s+)?{FILL}{LIST}"),
    # "Do not discard errors with `_ =`", "keep no token in `localStorage`".
    (
        rf"(?:{DENIED}).*{THROUGH}",
        rf"{NOT}\s+{OTHER}[a-z-]+(?:\s+[a-z-]+){{0,4}}?\s+{THROUGH}\s+{FILL}{LIST}",
    ),
    (
        rf"(?:{DENIED}).*{KEPT}",
        rf"{NOT}\s+(?:be\s+)?{KEPT}(?:\s+[a-z-]+){{0,3}}?\s+in(?:side)?\s+{FILL}{LIST}",
    ),
    (
        rf"(?:{DENIED}).*\bbe\s",
        rf"{NOT}\s+be\s+[a-z]+(?:ed|t|n)\s+(?:{THROUGH}|from)\s+{FILL}{LIST}",
    ),
    # "No `TODO`", "there must be no `breakpoint()` left", "no unwrapping with `try!`".
    (
        r"\bno\s",
        rf"(?:^\W*|[,;:(]\s*|\b(?:be|contain|leave)\s+)no\s+(?:more\s+|new\s+)?{FILL}{LIST}",
    ),
    (r"\bno\s", rf"^\W*no\s+(?:[a-z-]+\s+){{1,3}}(?:{THROUGH}|like|such\s+as)\s+{FILL}{LIST}"),
    (
        rf"\bno(?:\s|thing|body).*\b{MAY}\b",
        (
            r"\bno(?:thing|body|\s+one|\s+[a-z-]+(?:\s+[a-z-]+)?)\b[^\ue000.;]{0,40}\b"
            rf"{MAY}\s+(?:(?:an?|the|any)\s+[a-z-]+\s+)?(?:ever\s+)?(?P<verb>{DIRECT}|"
            rf"touch)\s+{FILL}{LIST}"
        ),
    ),
    # "`eval` is evil, so don't use it", "reject any change that adds `TODO`".
    (
        r"\b(?:it|them|these|this)\b",
        rf"{LIST}[^\ue000]{{0,60}}{NOT}\s+(?:use|call|import|write)\s+(?:it|them|these|this)\b",
    ),
    (
        "reject",
        (
            r"\breject\s+(?:any|every|all|each)?\s*\w+\s+(?:that|which|with)\s+"
            rf"(?:(?:adds?|uses?|has|have|contains?|calls?|introduces?)\s+)?{FILL}{LIST}"
        ),
    ),
    ("neither", rf"\bneither\s+{FILL}{LIST}"),
    ("remove", rf"\bremove\s+(?:all|any|every)\s+{FILL}{LIST}"),
    # "`target="_blank"` without `rel="noopener"` is not permitted".
    (
        "without",
        rf"(?P<list>{PIECE})\s+without\s+(?:an?\s+)?(?P<lack>{PIECE})[^\ue000.;]{{0,20}}?\s+{DECLARED}",
    ),
    # "`eval` is forbidden", "wildcard imports (`from x import *`) are not allowed".
    (TOLD_OFF, rf"{LIST}\s*\)?{NOUNS}{_WHERE}\s+{DECLARED}"),
    ("out of", rf"\bkeep\s+{FILL}{LIST}\s+out\s+of\b"),
    (
        TOLD_OFF,
        (
            rf"{LIST}{NOUNS}{_WHERE}\s*(?:[:→]|[—–-])\s*(?:never|forbidden|banned|prohibited|"
            r"not\s+(?:allowed|in|here)|don['’]t\W*$|no\W*$)"
        ),
    ),
    (
        rf"(?:{DENIED}).*\(",
        rf"{NOT}\s+(?P<verb>{DIRECT})\b[^\ue000.;:()]{{0,60}}\({EG}{LIST}\s*\)",
    ),
    # "❌ `a`", "Bad: `a`".
    (
        r"[❌🚫✗✘⛔:：]",
        (
            r"(?:[❌🚫✗✘⛔]\ufe0f?|\b(?:bad|wrong|incorrect|don['’]t|avoid|never|(?:must|do)\s+not|"
            r"forbidden|"
            r"prohibited|"
            r"banned)\s*[:：]|^\W*(?:bad|wrong|forbidden|prohibited|banned|ban|disallowed|"
            r"deprecated|"
            r"obsolete)(?:\s+[a-z-]+){0,3}\s*[:：])\s*"
            rf"(?:(?:{DIRECT})\s+)?{FILL}{LIST}"
        ),
    ),
    # "Use `a`, not `b`", "use `a` instead of `b`".
    (
        r"instead|rather|in\s+place|,\s+(?:and\s+)?not|,\s+never",
        (
            r"^\W*(?:always\s+|please\s+)?(?:use|call|write|import)\b[^.;]*?"
            rf"(?:\binstead\s+of|\brather\s+than|\bin\s+place\s+of|,\s+(?:and\s+)?not|"
            rf",\s+never)\s+{FILL}{LIST}"
        ),
    ),
    (
        "instead|rather",
        (
            rf"^\W*(?:instead\s+of|rather\s+than)\s+(?:(?P<verb>{DIRECT})\s+)?{FILL}{LIST}\s*,\s*"
            r"(?:use|call|write)\b"
        ),
    ),
)

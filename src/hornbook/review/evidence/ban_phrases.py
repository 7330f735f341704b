"""The phrases in which rules forbid code, as patterns over sentences whose code is taken out.

Each phrase stands with a cue, which must be in a sentence for the phrase to be tried, since most
are not there. A phrase has the group `list`, the code that it is about; `verb` and `put` say what
is not to be done with it.
"""

import re

from hornbook.review.evidence.languages import FORBIDDING, FORBIDDING_SIGNS, PRAISING

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
# Weaker words, which leave a reader some room.
DISLIKED = (
    rf"(?:(?:is|are){MOSTLY}\s+(?:deprecated|obsolete|dead|evil|wrong|gone|unwelcome|discouraged|"
    rf"dangerous|"
    r"harmful|insecure|frowned\s+upon|(?:a|an)\s+(?:mistake|error|bug|defect|blocker|failure|"
    r"code\s+smell|smell|"
    rf"anti-?pattern|no-go|hack)|bad(?:\s+(?:practice|style|form))?|not\s+(?:welcome|wanted|{PUT})|"
    rf"never\s+(?:{PUT}))|does\s+not\s+belong|do\s+not\s+belong|belongs?\s+nowhere)\b"
)
_ONLY = r"(?:only|exclusively|solely)"
_PLACES = rf"(?P<place>{PIECE}(?:\s*(?:,|/|\bor\b|\band\b)\s*{PIECE})*|[a-z-]+)"
_AT = r"(?:in|inside|within|by|from|for|through|under)\s+(?:the\s+|our\s+|an?\s+)?"
# What may stand in one place is forbidden in every other.
EXCLUSIVE = (
    # "`time.Now()` may only be called in `clock.go`", "`exit` may be called in `main.go` only".
    (
        "only|exclusively|solely",
        (
            rf"{LIST}\s*\)?{NOUNS}\s+(?:may|must|should|can|is|are)\s+(?:be\s+)?"
            rf"(?:(?:{PUT}|permitted|fine|ok)\s+)?{_ONLY}\s+(?:be\s+)?(?:(?:{PUT}|"
            rf"permitted)\s+)?{_AT}{_PLACES}"
        ),
    ),
    (
        r"\bonly\b",
        (
            rf"{LIST}\s*\)?{NOUNS}\s+(?:may|must|should|can|is|are)\s+(?:be\s+)?"
            rf"(?:{PUT}|permitted|fine|ok)\s+{_AT}{_PLACES}\s+only\b"
        ),
    ),
    ("nowhere else", rf"{LIST}[^\ue000.;]{{0,30}}\s{_AT}{_PLACES}\s*,?\s+and\s+nowhere\s+else"),
    (
        "reserved",
        rf"{LIST}\s*\)?{NOUNS}\s+(?:is|are)\s+reserved\s+(?:for|to)\s+(?:the\s+)?{_PLACES}",
    ),
    (
        r"^\W*only\b",
        (
            rf"^\W*only\s+(?:the\s+)?{_PLACES}(?:\s+(?:module|package|folder|file|"
            rf"layer)s?)?\s+(?:may|can|should|must)\s+"
            rf"(?:{DIRECT})\s+{FILL}{LIST}"
        ),
    ),
    (r"\bonly\b", rf"^\W*(?:use|call|import)\s+{FILL}{LIST}\s+{_ONLY}\s+{_AT}{_PLACES}"),
)
# "`requests.get` MUST pass `timeout`", "always pass `timeout=` to `requests`".
_MUST = r"(?:must|shall|ha(?:s|ve)\s+to|needs?\s+to|always|are\s+to|is\s+to)"
_GIVE = (
    r"(?:be\s+(?:in|inside|within)|"
    r"(?:be\s+(?:called|used|made|declared|created|written|opened|run|passed|given|wrapped|"
    r"guarded|protected)\s+)?"
    r"(?:with|in|by|using|pass(?:es)?|set|sets|use|uses|have|has|include|includes|take|takes|"
    r"specify|specifies|"
    r"give|gives|declare|declares|carry|carries|call|calls|be))"
)
REQUIRED = (
    (
        "must|shall|ha(?:s|ve)|need|always|are to|is to|require",
        (
            rf"(?P<list>{PIECE})(?:\s+[a-z-]+){{0,2}}?\s+(?:{_MUST}\s+{_GIVE}|requires?|needs?)\s+"
            rf"(?:an?\s+|the\s+|its\s+|explicit\s+)*(?P<needed>{PIECE})"
        ),
    ),
    (
        "always|must",
        (
            rf"\b(?:always|must)\s+(?:pass|set|give|specify|add|use|put)\s+(?:an?\s+|"
            rf"the\s+)*(?P<needed>{PIECE})"
            rf"(?:\s+[a-z-]+){{0,2}}?\s+(?:to|on|for|with|in|when\s+calling)\s+(?:every\s+|"
            rf"all\s+|each\s+|calls?\s+(?:of|to)\s+)*"
            rf"(?P<list>{PIECE})"
        ),
    ),
)
# "Every file MUST begin with `// SPDX-License-Identifier: MIT`".
OPENING = (
    "file|module|script|source|header",
    (
        rf"\b(?:files?|modules?|scripts?|sources?)\b[^\ue000.;]{{0,40}}?\b{_MUST}\s+"
        rf"(?:starts?|begins?|opens?|carry|carries|have|has|include|"
        rf"contain)\b[^\ue000.;]{{0,40}}?{LIST}"
    ),
)
# "`validate()` MUST be called before `save()`", "call `save()` only after `validate()`".
ORDERED = (
    (r"\bbefore\b", rf"(?P<first>{PIECE})[^\ue000.;]{{0,40}}?\bbefore\s+{FILL}(?P<list>{PIECE})"),
    (r"\bafter\b", rf"(?P<list>{PIECE})[^\ue000.;]{{0,40}}?\bafter\s+{FILL}(?P<first>{PIECE})"),
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
# "Containers must not run as root (`runAsUser: 0`)", "do not echo secrets: `echo $TOKEN`".
LOOSE_PHRASES = (
    (
        rf"(?:{DENIED}).*\(",
        rf"{NOT}\s+{OTHER}[^\ue000.;:()]{{1,60}}\({EG}{LIST}\s*\)",
    ),
    (
        "prefer",
        rf"\bprefer(?:red)?\b[^.;]*?\b(?:over|to|instead\s+of|rather\s+than)\s+{FILL}{LIST}",
    ),
    (
        r"\bno\s",
        (
            r"(?:^\W*|[,;:(]\s*)no\s+(?!need|longer|matter|other|one|way|more|such|point)[a-z-]+\s+"
            rf"{LIST}"
        ),
    ),
    (TOLD_OFF, rf"\({EG}{LIST}[^()\ue000]{{0,30}}\){NOUNS}\s+{DECLARED}"),
    (
        r"such\s+as|like",
        rf"{NOT}\s+{OTHER}[a-z-]+(?:\s+[a-z-]+){{0,4}}?\s+(?:such\s+as|like)\s+{FILL}{LIST}",
    ),
    ("replace", rf"\breplace\s+{FILL}{LIST}\s+(?:with|by)\b"),
    (
        r"is|are|belong",
        rf"{LIST}\s*\)?{NOUNS}{_WHERE}\s+{DISLIKED}",
    ),
    (
        rf"(?:{DENIED}).*(?:e\.g|such|like|example)",
        (
            rf"{NOT}\s+{OTHER}[^\ue000.;:()]{{1,60}},\s*(?:e\.g\.,?|such\s+as|like|"
            rf"for\s+example,?)\s*{LIST}"
        ),
    ),
    (r"(?:contain|ha(?:s|ve))\w*\s+no\b", rf"\b(?:contains?|has|have)\s+no\s+{FILL}{LIST}"),
    (rf"(?:{DENIED}).*:", rf"{NOT}\s+{OTHER}[^\ue000.;:()]{{1,60}}:\s*{LIST}\W*$"),
)
# Sentences that no phrase understands: whether they are against something at all.
PLAINLY = re.compile(
    r"\b(?:not|never|no|nothing|nobody|none|neither|nor|avoid\w*|cannot|forb[aio]d\w*|bann?\w*|"
    rf"prohibit\w*|disallow\w*|reject\w*|only|alone|solely|exclusively|{FORBIDDING})\b|n['’]t\b|[❌🚫✗✘⛔]|"
    rf"{FORBIDDING_SIGNS}",
    re.IGNORECASE,
)
AGAINST = re.compile(
    rf"{PLAINLY.pattern}|\b(?:deprecat\w*|obsolete|legacy|refus\w*|block\w*|stop|skip|drop|"
    rf"remov\w+|"
    r"replac\w+|instead\s+of|rather\s+than|in\s+place\s+of|off-limits|private|leak\w*|break\w*|broken|"
    r"danger\w*|"
    r"unsafe|insecure|harm\w*|evil|wrong|bad|bugs?|mistakes?|defects?|blockers?|fail\w*|smells?|"
    r"anti-?patterns?|hacks?|gone|dead|is\s+out|are\s+out|away|push\s+back|unwelcome|elsewhere|"
    r"reserved|"
    r"outside|except|unless|without|beware|careful|discourag\w*|frown\w*|taboo|illegal|"
    r"violat\w*)\b",
    re.IGNORECASE,
)
# What stands before code that a sentence is for: "use `x`", "masked with `x`".
PRAISED = re.compile(
    r"(?:^|(?<!not\s)(?<!never\s)(?<!n['’]t\s)(?<!to\s)\b)(?:use|uses|using|prefer\w*|call|via|"
    r"through|"
    rf"raise|return|returns|write|with|without|pass|run|by|see|in|inside|add|begin|{PRAISING})\s*"
    r"(?:(?:the|a|an|our|its|your|\ue000\d+\ue001|or|and|/|,)\s*){0,4}$",
    re.IGNORECASE,
)
FOR = re.compile(
    r"\b(?:must|should|shall|always|fine|allowed|ok(?:ay)?|preferred|use[ds]?|good|right|supports?|"
    r"returns?|means?|holds?|provides?|gives?|tells?|says?|helps?|enough|respects?|works?|"
    r"better)\b",
    re.IGNORECASE,
)

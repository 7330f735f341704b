"""The phrases in which rules forbid code, as patterns over sentences whose code is taken out.

Each phrase stands with a cue, which must be in a sentence for the phrase to be tried, since most
are not there. A phrase has the group `list`, the code that it is about; `verb` and `put` say what
is not to be done with it.
"""

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

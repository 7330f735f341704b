"""Words of other languages than English that rules and reviews use, as parts of patterns.

Rules are read in the language that a team writes in. These words are enough to know that a
sentence is against something, that it is for something, or which line is meant; what it is about is
told by the code that it names.
"""

FORBIDDING = (
    # German, Dutch
    r"verbot\w*|untersagt|unzul[äa]ssig|nicht\s+(?:erlaubt|zul[äa]ssig|gestattet|verwend\w*|"
    r"benutz\w*|"
    r"nutzen)|d[üu]rfen\s+(?:\w+\s+){0,4}?(?:nicht|nie|niemals|kein\w*)|"
    r"darf\s+(?:\w+\s+){0,4}?(?:nicht|nie|"
    r"niemals|kein\w*)|niemals|kein(?:e|en|er|em|es)?|vermeide\w*|nie|statt|anstatt|anstelle|"
    r"verboden|nooit|niet\s+(?:toegestaan|gebruik\w*)|mag\s+niet|vermijd\w*|geen|"
    # French
    r"interdit\w*|jamais|proscri\w*|[ée]vite[rz]?|d[ée]fendu\w*|ne\s+(?:doi\w+|peu\w+|"
    r"faut)\s+(?:\w+\s+)?(?:pas|"
    r"jamais)|n['’](?:utilis\w+|employ\w+)\s+(?:pas|jamais)|pas\s+d['e’]|aucun\w*|"
    r"plut[ôo]t\s+que|au\s+lieu\s+d\w+|"
    # Spanish, Portuguese, Italian
    r"prohib\w+|proib\w+|vieta(?:no|re|t\w*)?|nunca|jam[áa]s|evit[ae]\w*|"
    r"no\s+(?:se\s+)?(?:debe\w*|puede\w*|us\w+|utili\w+|"
    r"est[áa]\s+permitid\w*)|n[ãa]o\s+(?:se\s+)?(?:deve\w*|pode\w*|us\w+|utiliz\w+|"
    r"[ée]\s+permitid\w*)|"
    r"non\s+(?:usa\w*|si\s+dev\w+|dev\w+|utilizz\w+|[èe]\s+(?:consentit|ammess)\w*)|mai|"
    r"en\s+lugar\s+de|"
    r"em\s+vez\s+de|invece\s+di|sin\b|"
    # Polish, Russian, Turkish, Scandinavian
    r"zabroni\w+|nie\s+wolno|nigdy|nie\s+u[żz]ywa\w*|zakaz\w*|unika\w+|запрещ\w+|нельзя|никогда|"
    r"не\s+использ\w+|"
    r"не\s+допуск\w+|избега\w+|вместо|yasak\w*|asla|kullanma\w*|f[öo]rbj\w+|forbudt|aldri[g]?|"
    r"m[åa]\s+ikke|f[åa]r\s+inte|undvik\w*"
)
"""Words that say no, between the borders of words."""
FORBIDDING_SIGNS = (
    r"禁止|严禁|不得|不要|不允许|不可|不能|请勿|避免|勿用|不应|而不是|してはいけ|しないこと|してはなら|使わない|使用しない|避け|"
    r"ではなく|금지|하지\s*마|사용하지|피하|안\s*된다"
)
"""The same in scripts that have no blanks between words."""
ASKING = (
    r"m[üu]ss(?:en)?|muss|moeten|moet|doi(?:t|vent)|il\s+faut|debe[nr]?|deve(?:m|no)?|devono|"
    r"musi|musz[ąa]|должн\w+|m[åa]ste|skal|gerekir"
)
"""What asks for something, between the borders of words."""
PRAISING = (
    r"benutz\w*|verwende\w*|nutze\w*|bevorzug\w*|gebruik\w*|utilise[zr]?|employe[zr]|"
    r"pr[ée]f[ée]re[zr]?|"
    r"us[ae]r?|utilizar?|utilice|prefiera|usare|utilizzare|u[żz]ywa\w*|используй\w*|"
    r"使用|改用|请用|使う|使用する|사용"
)
"""What stands before code that a sentence is for."""
LINE = (
    r"lines?|zeilen?|lignes?|l[íi]neas?|linhas?|righe|riga|regels?|wiersz\w*|linij\w*|lini[ai]|"
    r"строк\w*|sat[ıi]r\w*|"
    r"rader|rad|linjer?|行|第|줄"
)
"""What stands before the number of a line."""
REJECTING = (
    r"\b(?:ich|wir)\s+(?:lehne\w*|weise\w*)\b[^.\n]{0,80}?\b(?:ab|zur[üu]ck)\b|\babgelehnt\b|"
    r"\bzur[üu]ckgewiesen\b|"
    r"\bnicht\s+(?:freigegeben|genehmigt|mergen|freigeben|akzeptiert|zu\s+mergen)\b|"
    r"\b[äa]nderungen\s+(?:erforderlich|n[öo]tig)\b|"
    r"\bdarf\s+(?:\w+\s+){0,3}nicht\s+(?:\w+\s+){0,2}(?:in\s+den|rein|gemergt|ausgeliefert|live)\b|"
    r"\b(?:erst|vorher|zuvor)\s+(?:\w+\s+){0,3}(?:[üu]berarbeite\w*|nachbesser\w*|behoben|"
    r"korrigier\w*)\b|"
    r"\bne\s+(?:doit|peut)\s+pas\s+[êe]tre\s+(?:fusionn|int[ée]gr|accept|livr)\w+|"
    r"\bno\s+(?:debe|puede)\s+(?:ser\s+)?(?:fusion|integr|acept)\w*|"
    r"\bje\s+(?:l[ae]\s+)?(?:rejette|refuse)\b|\brejet[ée]e?\b|\brefus(?:é|e\u0301|[ée]e\b)|"
    r"\b(?:est|sont|changement|modification)\s+refuse\b|"
    r"\bne\s+(?:pas\s+)?fusionne\w*\b|\bmodifications\s+demand[ée]es\b|"
    r"\b(?:rechazo|rechazad[oa]|no\s+(?:aprob\w+|fusion\w+|apruebo))\b|\b(?:rejeitad[oa]|rejeito|"
    r"n[ãa]o\s+aprov\w+)\b|"
    r"\b(?:rifiut\w+|respint\w+|non\s+approvat\w+)\b|\bafgewezen\b|\bodrzucon\w+\b|\bотклон\w+|"
    r"\bне\s+одобр\w+|"
    r"拒绝|驳回|不批准|不通过|却下|不承認|否決|承認できません|거부|반려"
)
"""How a review says that it rejects the change."""

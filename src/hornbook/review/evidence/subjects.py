"""Which lines of a change a rule is about, so that an answer to it can be held against them.

A quote may be true, part of the change, and still have nothing to do with the rule: the `return` at
the end of a function says nothing of the query above it. A rule tells what it is about in words:
code that it names, subjects that every language writes in a few known ways (queries, logs, errors,
imports, definitions ...), and words that names in the code have too. Nobody but a reader knows
whether a line keeps the rule. But an answer that speaks of none of the lines that the rule is
about was not written with them in view.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from hornbook.review.evidence.ban_forms import has_code
from hornbook.review.evidence.changed_files import Reviewed
from hornbook.review.evidence.marked_text import Passage, forbids, orders_something, passages
from hornbook.review.evidence.presence import (
    PARTS,
    WORDS,
    concerned,
    parts_of,
    shows,
    stems,
    stems_of,
)

_SHORTEST_CODE = 3
_FEWEST_STEMS = 2
_RARE = 4
"""A word of a rule says what one line is about if at most one in so many lines has it."""
_TELLING, _MOST, _HALF = 1.0, 0.5, 0.5
"""A sentence tells which line is meant if one line alone has some word of it, and if no other
sentence says much more. The lines with half as much of it as the first are meant too."""
_ROOT = 5
"""Letters by which a word of a rule is known in code: `params` is short for "parameters"."""
BEGINNING = 10
"""Lines in which what a file must begin with is shown."""
_PIECE, _OVERLAP = 1000, 200
"""Letters of a line that a form is looked for in at once: some take time with their square."""
_LONGEST = 600
"""Letters of a sentence that are looked at."""
_DEFINES = (
    r"\b(?:def|func|fn|function|fun|sub|proc|class|interface|struct|enum|trait|type|record|module|"
    r"protocol|macro_rules!)\s+[\w(*]|^\s*(?:export\s+)?(?:const|let|var|"
    r"val)\s+\w+\s*[:=].*(?:=>|\bfunction\b)|"
    r"^\s*(?:public|private|protected|internal|static|final|abstract|override|async|virtual|"
    r"export)\b.*[({]\s*$|"
    r"^\s*(?:[\w<>\[\],.?*&:]+\s+)+[\w:~]+\([^;]*\)\s*(?:throws\s+[\w., ]+)?\{?\s*$|"
    r"(?i:\bcreate\s+(?:or\s+replace\s+)?(?:table|view|function|index|type|procedure)\b)|"
    r"^\s*\w+\s*\(\)\s*\{|^\s*(?:resource|data|variable|module)\s+\""
)


@dataclass(frozen=True, slots=True)
class _Subject:
    """The words of a rule that mean something, and what its lines look like in any language."""

    said: str
    form: str


_SUBJECTS = {
    "queries": _Subject(
        r"sql\b|quer(?:y|ies)|statements? to the database|datenbankabfrag|abfragen?\b|requêtes?|"
        r"consultas?|查询|クエリ",
        r"(?i:\b(?:select\s.+\sfrom|insert\s+into|update\s+\w+\s+set|delete\s+from)\b)|"
        r"\.(?:execute\w*|query\w*|raw|prepare|exec)\s*\(|(?i:\b(?:cursor|queryrow)\w*\()",
    ),
    "tables": _Subject(
        r"tables?\b|columns?\b|primary keys?|foreign keys?|migrations?|index(?:es)?\b|schemas?\b|"
        r"tabellen?\b|spalten?\b|colonnes?|tablas?\b|columnas?",
        r"(?i:\b(?:create|alter|drop|add|rename)\s+(?:unique\s+)?(?:table|column|index|"
        r"constraint|view|schema)\b|"
        r"\b(?:add_column|create_table|drop_table|drop_column|add_index|remove_column|"
        r"rename_column)\b|"
        r"\b(?:primary|foreign)\s+key\b|\breferences\s+\w+\s*\()|"
        r"(?i:^\s*\w+\s+(?:text|(?:big|small)?int(?:eger)?|serial|bigserial|bool(?:ean)?|numeric|"
        r"timestamptz?|date|uuid|jsonb?|varchar|char|float|double|real|decimal)\b)",
    ),
    "logs": _Subject(
        r"log(?:s|ged|ging|gers?)?\b|prints?\b|printed|console\b|stdout|debug\w*|protokoll\w*|"
        r"journal\w*|registr\w+ de|日志|ログ",
        r"(?i:\b(?:log|logger|logging|slog|console|journal|tracing|winston|zap|klog)\w*\s*(?:\.|"
        r"::)\s*\w+|"
        r"\b(?:print|println|printf|puts|echo|fprintf|eprintln|dbg|var_dump|print_r|debug|info|"
        r"warn|log)\b\s*!?\s*[(\"'$])|"
        r"\bfmt\.F?[Pp]rint|System\.(?:out|err)|Debug\.\w+\(|NSLog",
    ),
    "errors": _Subject(
        r"errors?\b|exceptions?\b|catch\w*|except\b|rescu\w+|swallow\w*|panics?\b|panicked|"
        r"fail(?:s|ed|ures?)?\b|rais(?:e|ed|ing)\b|throw\w*|traceback|stack traces?|fehler\w*|"
        r"ausnahmen?|erreurs?|errores|excepciones|異常|例外|错误|异常",
        r"\b(?:try|except|catch|rescue|raise|throw|throws|panic|recover|Result|Err|unwrap|expect|"
        r"finally|ensure|err|fail\w*|abort|die|exit|reject)\b|(?i:error|exception)|\?;|\?\)|"
        r"unwrap_or",
    ),
    "types": _Subject(
        r"type(?:s|d|-safe\w*)?\b|type hints?|annotat\w+|generics?\b|casts?\b|non-null|"
        r"assertions?\b|nullable|typen?\b|typisier\w*|tipos?\b",
        r"[\w)\]]\s*\??:\s*[A-Za-z_\[{(]|->|\bas\s+\w|<[A-Z]\w*>|\w!(?=[.;,)\]])|\b(?:any|"
        r"unknown|object|interface|type|cast|Any)\b",
    ),
    "imports": _Subject(
        r"imports?\b|imported|importing|dependenc\w+|depends?\b|layers?\b|packages?\b|inwards|"
        r"circular|importier\w*|abhängig\w*|dépend\w+|importar|依赖|导入",
        r"^\s*(?:import|from|use|using|require|include|#include|export\s.*\bfrom|pub\s+use|mod|"
        r"load)\b|\brequire\w*\s*\(|\bimport\s*\(|\b\w*[iI]mplementation[\s(]+[\"']|"
        r"^\s*[\w.]*\s*\"[\w./-]+\"\s*$|"
        r"^\s*[\"'][\w@/.-]+[\"']\s*:\s*[\"'][\^~\d*]",
    ),
    "definitions": _Subject(
        r"parameters?\b|arguments?\b|signatures?\b|nam(?:es|ed|ing)\b|prefix\w*|suffix\w*|"
        r"docstrings?|"
        r"documented|constants?\b|hooks?\b|interfaces?\b|endpoints?\b|routes?\b|"
        r"exported\b|namen?\b|benannt|nom(?:s|m\w+)?\b|nombres?\b|命名",
        _DEFINES + r"|^\s*@\w+[.(]|^\s*[A-Z][A-Z0-9_]+\s*[:=]",
    ),
    "calls over the network": _Subject(
        r"network\b|https?\b|requests?\b|timeouts?\b|retr(?:y|ies|ied)\b|remote\b|api calls?|"
        r"outgoing|clients?\b|netz\w*|zeitlimit|réseau|délai|red\b|超时|タイムアウト",
        r"\b(?:requests|httpx|axios|fetch|urllib\w*|urlopen|aiohttp|http|https|grpc|HttpClient|"
        r"RestTemplate|WebClient|reqwest|curl|wget|got|superagent)\b|(?i:timeout|retr(?:y|ies))",
    ),
    "times": _Subject(
        r"times?\b(?= |s? must|\.|,)|dates?\b|datetimes?|time ?zones?|utc\b|clocks?\b|"
        r"timestamps?|zeiten?\b|zeitzonen?|uhr\w*|heures?\b|fechas?\b|時刻|时间",
        r"(?i:datetime|\bdate\b|\btime\.|\bnow\(|timestamp|utc|\bclock|time\.now|instant\.|"
        r"localdate|new date\()",
    ),
    "secrets": _Subject(
        r"secrets?\b|credentials?\b|passwords?\b|passphrase|api[ -]?keys?\b|tokens?\b|"
        r"keys?\b(?= |,|\.)|personal data|sensitive|"
        r"geheimnis\w*|passw[oö]rt\w*|schlüssel|zugangsdaten|mots? de passe|secrets?|clés?\b|"
        r"contraseñas?|claves?\b|密码|密钥|パスワード|秘密",
        r"(?i:secret|passw|passwort|credential|api_?key|access_?key|private_?key|token|auth|"
        r"bearer|contrase|mot_?de_?passe|schluessel)|"
        r"[\"'][A-Za-z0-9+/_-]{20,}[\"']|environ|getenv|process\.env",
    ),
    "files": _Subject(
        r"open(?:ed|s|ing)?\b|close[ds]?\b|file handles?|file ?system|paths?\b|disk\b|temporary|"
        r"dateien?\b|pfade?\b|fichiers?|archivos?|ファイル|文件",
        r"\bopen\s*\(|\.(?:open|read|write|close|unlink|read_text|write_text|rmtree|"
        r"mkdir)\w*\s*\(|\b(?:fs|os|io|ioutil|shutil|Path|File|Files)\b[.:]|\bwith\s+open|"
        r"\bdefer\b",
    ),
    "randomness": _Subject(
        r"random\w*|entropy|zufall\w*|aléatoire|aleatori\w*|乱数|随机",
        r"(?i:rand|secrets\.|uuid|urandom|crypto)",
    ),
    "concurrency": _Subject(
        r"threads?\b|async\w*|await\w*|goroutines?|locks?\b|mutex\w*|concurren\w*|races?\b|"
        r"parallel\w*|blocking\b|event loop|nebenläufig\w*",
        r"(?i:\bthread|\basync\b|\bawait\b|\bgo\s+(?:func|\w+\()|mutex|lock\b|\.lock\(|channel|"
        r"chan\b|promise|\.then\(|spawn|sleep|asyncio|synchronized|executor|parallel)",
    ),
    "tests": _Subject(
        r"tests?\b|tested\b|skip\w*|assertions?\b|fixtures?\b|mock\w*|specs?\b|tests? dürfen|"
        r"pruebas?\b|测试|テスト",
        r"(?i:\b(?:def|func|fn|fun|void)\s+\(?.*test|\bassert\w*|\bexpect\(|\b(?:it|test|"
        r"describe|xit|xdescribe)(?:\.\w+)?\s*\(|skip|@test|#\[test\]|#\[ignore|xfail|mock|"
        r"t\.run\()",
    ),
    "money": _Subject(
        r"money\b|amounts?\b|prices?\b|cents?\b|currenc\w+|floats?\b|decimals?\b|geld\b|"
        r"beträge?\b|preise?\b|montants?|importes?|dinero|金额|金額",
        r"(?i:float|decimal|amount|price|cent|total|fee|cost|tax|currenc|betrag|preis|money)|"
        r"\d\.\d",
    ),
    "markup": _Subject(
        r"images?\b(?=.*\b(?:alt|text|label)s?\b)|<?img>?\b|alt\b|accessib\w+|a11y|buttons?\b|"
        r"labels?\b|inputs?\b(?=.*label)|aria\b|headings?\b|inline styles?|links?\b(?=.*\brel\b)",
        r"<\s*(?:img|button|input|a|label|h\d|form|select|textarea|svg|script|style|div|span)\b|"
        r"aria-|\balt=|style=|role=|target=",
    ),
    "containers": _Subject(
        r"containers?\b|pods?\b|base images?|images? (?:must|are|is|shall|should)|privileged|"
        r"root\b|latest\b|pinn?ed\b|digests?\b|tags?\b|"
        r"limits?\b(?=.*(?:memory|cpu|resource|contain))|resources?\b|ports?\b|volumes?\b|"
        r"kubernetes|docker\w*",
        r"(?i:^\s*(?:-\s*)?(?:image|containers?|securitycontext|privileged|runas\w*|resources|"
        r"limits|requests|ports?|expose|volumes?|user|hostnetwork|uses)\s*:|"
        r"^\s*(?:from|user|add|copy|run|expose|env|arg)\s+\S|^\s*- uses:|^\s*(?:- )?image)",
    ),
    "workflows": _Subject(
        r"actions?\b|workflows?\b|pipelines?\b|ci\b|jobs?\b|runners?\b|"
        r"permissions?\b(?=.*(?:workflow|job|token))",
        r"^\s*-?\s*(?:uses|on|permissions|runs-on|run|env|with|secrets)\s*:|^on\s*:|pull_request",
    ),
    "access to the network": _Subject(
        r"security groups?|firewall\w*|ingress|egress|0\.0\.0\.0|open to the world|"
        r"public(?:ly)? (?:access\w*|reachable|readable)|buckets?\b|encrypt\w*",
        r"(?i:cidr|ingress|egress|0\.0\.0\.0|public|acl|encrypt|kms|from_port|security_group)",
    ),
    "shell": _Subject(
        r"shells?\b|scripts?\b|bash\b|piped?\b|set -e\w*|quot(?:e|ed|ing)\b|sudo\b|curl\b|wget\b|"
        r"download\w*|heruntergeladen\w*",
        r"\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|\b(?:curl|wget|sudo|eval|source)\s|^\s*set\s+[-+]|"
        r"^#!|\$\w+|\$\{|rm\s+-",
    ),
    "styles": _Subject(
        r"colou?rs?\b|hex\b|!important|css\b|selectors?\b|margins?\b|pixels?\b|fonts?\b",
        r"#[0-9a-fA-F]{3,8}\b|!important|(?i:colou?r\s*:|background|font|\d+px|var\(--)",
    ),
    "nothing": _Subject(
        r"nulls?\b|nil\b|none\b(?= must| is| may|,)|undefined\b|bangs?\b|double bang|optional\w*|"
        r"force[- ]unwrap\w*|unwrap\w*",
        r"\b(?:null|nil|None|undefined|NULL|Optional|Option|Some|unwrap\w*|nullptr|"
        r"requireNotNull)\b|!!|\?\.|\?:|\w!(?=[.;,)\]])|\?\?",
    ),
    "branches": _Subject(
        r"nest(?:ed|ing)\b|complex\w*|loops?\b|branch(?:es|ing)?\b(?!.*git)|early returns?|"
        r"else\b|conditions?\b|switch\w*|ternar\w+|verschachtel\w*|schleifen?\b",
        r"\b(?:if|else|elif|for|while|switch|case|match|unless|until|loop|when)\b|\s\?\s.+\s:\s",
    ),
    "checks of callers": _Subject(
        r"permissions?\b|authori[sz]\w+|authenticat\w+|callers?\b|access (?:control|check)\w*|"
        r"roles?\b|login\w*|berechtig\w*|autoris\w+|permisos?\b|权限|認可",
        r"(?i:permission|authori|authent|\bauth|role|login|denied|\bdeny|admin|allowed|@router|@app\.|@(?:get|post|put|"
        r"delete|patch)\w*|require_|guard|middleware|\.(?:get|post|put|delete|"
        r"patch)\s*\(\s*[\"'/])",
    ),
    "input": _Subject(
        r"valid(?:at\w+|ity)\b|sanitiz\w+|sanitis\w+|user input|untrusted|escap(?:e|ed|ing)\b|"
        r"inject\w*|xss\b|prüf\w+|valider|validar",
        r"(?i:valid|sanit|escape|request\.|req\.|params|input|form\b|body|query|innerhtml|"
        r"dangerously|raw\b|args\b|save\()",
    ),
    "remarks": _Subject(
        r"comments?\b|remarks?\b|todo\b|fixme\b|commented|kommentar\w*|commentaires?|"
        r"comentarios?|注释|コメント",
        r"(?:^|\s)(?:#|//|/\*|\*|--|<!--)",
    ),
    "memory": _Subject(
        r"memory\b|leaks?\b|pointers?\b|buffers?\b|alloc\w*|bounded\b|unsafe\b|overflow\w*|"
        r"speicher\b|mémoire",
        r"\b(?:malloc|free|calloc|realloc|memcpy|strcpy|strcat|strncpy|sprintf|snprintf|gets|new|"
        r"delete|unsafe|alloc|Box|Rc|Arc|unique_ptr)\b|\*\w+\s*=",
    ),
    "state": _Subject(
        r"global\w*|mutable\b|mutat\w+|immutab\w+|singletons?\b|side effects?|shared state|"
        r"veränderlich\w*",
        r"\b(?:global|static|mut|let|var|nonlocal|readonly|final|const)\b|^[A-Za-z_]\w*\s*=|"
        r"=\s*(?:\[\]|\{\}|set\(\)|dict\(\)|list\(\))",
    ),
    "numbers": _Subject(
        r"magic numbers?|literals?\b|hard-?coded\b|zahlen\b",
        r"(?<![\w.])\d{2,}(?![\w.])|[\"'][^\"']{3,}[\"']",
    ),
    "returns": _Subject(
        r"returns?\b|returned|rückgab\w*|zurückgeb\w*|renvo\w+|devolver\w*",
        r"\breturn\b|=>|->",
    ),
}
_SAID = {
    name: re.compile(rf"(?<![\w-])(?:{each.said})", re.IGNORECASE)
    for name, each in _SUBJECTS.items()
}
_FORM = {name: re.compile(each.form) for name, each in _SUBJECTS.items()}
_RAW = frozenset({"remarks"})
_COMMON = frozenset({"definitions", "returns", "branches", "types", "state", "numbers", "imports"})
"""Subjects that nearly every change has lines of: who quotes one has looked, but nobody must."""
_PROCESS = re.compile(
    r"\b(?:pull requests?|PRs?|merge requests?|MRs?|commit messages?|force-push\w*|amend\w*|"
    r"review(?:er|-bot)?s? (?:threads?|comments?|bots?)|bot comments?|comment on)\b"
)
"""What people do around a change, such as commenting on it: no line of code is about that."""
_FEWEST_OF_PROCESS = 3
_SHARE_OF_PROCESS = 3
"""A text is about that if one in so many sentences says so, and no fewer than some."""
_BLANKS = re.compile(r"\s+")
_ONLY_TEXT = re.compile(r"[\s\"'`]*$")
"""A line that is nothing but a string, such as what explains a function."""
_OWNER = re.compile(r"[\w$]+(?:\.|::|->)(?=\w)")
"""Whose a name is: of `fmt.Println` the `fmt`, which says nothing of what is forbidden."""
_ASKS = re.compile(
    r"\b(?:must|shall|should|needs?|each|every|all|always|only|has|have|is|are|comes?|goes|gets?|"
    r"carr(?:y|ies)|holds?|takes?|returns?|uses?)\b",
    re.IGNORECASE,
)


Lines = set[tuple[str, int]]
"""Lines of files, by path and number."""


@dataclass(frozen=True, slots=True)
class Order:
    """What one sentence of a rule is about: code that it names, known subjects, stems of words."""

    codes: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    stems: frozenset[str] = frozenset()
    title: bool = False
    words: frozenset[str] = frozenset()
    asks: bool = False
    orders: bool = False

    @property
    def is_known(self) -> bool:
        """Whether it says anything of what it is about."""
        return bool(self.codes or self.subjects or self.stems)


@lru_cache(maxsize=256)
def orders(text: str) -> tuple[Order, ...]:
    """The sentences of a rule, by what each is about; those about nothing known are left out."""
    said = [each for each in passages(text) if each.text]
    found = [_order(each) for each in said]
    around = sum(_PROCESS.search(each.text) is not None for each in said)
    if around >= max(_FEWEST_OF_PROCESS, len(said) / _SHARE_OF_PROCESS):
        found = [Order(each.codes, title=each.title) for each in found]
    return tuple(dict.fromkeys(each for each in found if each.is_known))


def shares_word(rule: str, text: str) -> bool:
    """Whether a text has a word of a rule that asks for something, or code that it names."""
    if not any(each.asks for each in orders(rule)):
        return True
    named = any(code in text for each in orders(rule) for code in each.codes)
    return named or not stems_of(text).isdisjoint(_own_words(rule))


def _roots(line: str) -> set[str]:
    return {each[:_ROOT] for each in stems_of(line)}


def _own_words(rule: str) -> set[str]:
    return {word for each in orders(rule) for word in each.words | each.stems}


def _order(passage: Passage) -> Order:
    said, codes = passage.text[:_LONGEST], passage.codes
    numbers = [int(each) for each in re.findall("\ue000(\\d+)\ue001", said)]
    named = tuple(code for each in numbers if len(code := codes[each].strip()) >= _SHORTEST_CODE)
    words = re.sub("\ue000\\d+\ue001", " ", said)
    subjects = tuple(name for name, form in _SAID.items() if form.search(words))
    own = frozenset(stems(words, WORDS))
    of_code = " ".join(_OWNER.sub("", codes[each]) for each in numbers)
    words_and_code = own | frozenset(stems(of_code, PARTS))
    asks = _ASKS.search(words) is not None and not (passage.title or forbids(words))
    ordered = orders_something(words)
    return Order(named, subjects, own, passage.title, words_and_code, asks, ordered)


def _is_about(name: str, line: str) -> bool:
    """Whether a line looks like one of a subject; a long one is looked at piece by piece."""
    if len(line) <= _PIECE:
        return _FORM[name].search(line) is not None
    told = _BLANKS.sub(" ", line)
    pieces = range(0, len(told), _PIECE - _OVERLAP)
    return any(_FORM[name].search(told[each : each + _PIECE]) for each in pieces)


class Subjects:
    """The lines that a change adds, by what they are about; each is read once for all rules."""

    def __init__(self, reviewed: Reviewed) -> None:
        self._reviewed = reviewed
        self._stems: dict[str, dict[str, frozenset[int]]] = {}
        self._rare: dict[str, bool] = {}
        self._has: dict[tuple[str, str], frozenset[int]] = {}

    def lines(self, text: str, paths: Iterable[str]) -> tuple[list[Lines], list[Lines]]:
        """The added lines that each sentence of a rule is about, and those of its headings.

        A sentence that has no telling line is left out; where all are, headings take their place.
        """
        known = list(paths)
        said: list[Lines] = []
        titles: list[tuple[Lines, Lines]] = []
        for order in orders(text):
            telling = {(path, number) for path in known for number in self._of_order(order, path)}
            common = self._common(order, known)
            if order.title:
                titles.append((telling, common))
            elif telling:
                said.append(telling | common)
        return said, [telling | common for telling, common in titles]

    def related(self, text: str, paths: Iterable[str]) -> Lines:
        """Every added line that has anything to do with the words of a rule."""
        known = list(paths)
        found = Lines()
        for order in orders(text):
            found |= {(path, number) for path in known for number in self._of_order(order, path)}
            found |= self._common(order, known)
        return found

    def sharing(self, text: str, paths: Iterable[str]) -> Lines:
        """Every added line that has one word of a rule, however many others have it too."""
        stems = _own_words(text)
        return {
            (path, number)
            for path in paths
            for stem in stems
            for number in self._with_stem(stem, path)
        }

    def with_words(self, words: str, paths: Iterable[str]) -> Lines:
        """The added lines that have one of some words."""
        known, said = list(paths), set(stems(words, WORDS))
        return {(p, each) for p in known for stem in said for each in self._with_stem(stem, p)}

    def named(self, text: str, paths: Iterable[str]) -> Lines:
        """The added lines that have a word of a rule, or of the code that it names.

        There are none where most lines have one: then it says nothing of a single line.
        """
        known = list(paths)
        codes = (code for each in orders(text) for code in each.codes)
        said = _own_words(text).union(*(stems(code, PARTS) for code in codes))
        found = {(p, each) for p in known for stem in said for each in self._with_stem(stem, p)}
        added = sum(len(self._reviewed.added(path)) for path in known)
        return found if len(found) * 2 <= added + 1 else Lines()

    def is_about(self, text: str, lines: Iterable[tuple[str, int]], paths: Iterable[str]) -> bool:
        """Whether some of the lines have anything to do with a rule that asks for something."""
        known = list(paths)
        added = [each for path in known for each in self._reviewed.added(path)]
        asked = list(concerned(text, added, self._reviewed))
        codes = [code for each in asked for code in (*each.about, *each.codes, *each.files)]
        said = {each[:_ROOT] for each in _own_words(text).union(*map(stems_of, codes))}
        parts = {each for order in orders(text) for code in order.codes for each in parts_of(code)}
        opening = all(each.opening for each in asked)
        seen = {each for each in lines if not opening or each[1] <= BEGINNING}
        if not asked or not said:
            return True
        for path, number in seen:
            line = "".join(self._reviewed.lines(path, old=False)[number - 1 : number])
            if not (parts.isdisjoint(parts_of(line)) and said.isdisjoint(_roots(line))):
                return True
            if any(shows(code, self._reviewed, (path, number)) for code in codes):
                return True
        return not opening and not seen.isdisjoint(self.related(text, known))

    def _common(self, order: Order, paths: Iterable[str]) -> Lines:
        """The lines of those subjects of a sentence that nearly every change has."""
        names = [name for name in order.subjects if name in _COMMON]
        return {
            (path, number)
            for path in paths
            for name in names
            for number in self._of_subject(name, path)
        }

    def closest(self, text: str, paths: Iterable[str]) -> Lines:
        """The added lines that have most in common with a sentence of a rule.

        Code that a sentence names and words of it count, the more the fewer lines have them. Who
        has looked for what the rule is about has come upon these lines first.
        """
        known = list(paths)
        said = [each for each in orders(text) if not each.title]
        weighed = [self._weights(each, known) for each in said]
        most = [max(each.values(), default=0.0) for each in weighed]
        least = max(_TELLING, _MOST * max(most, default=0.0))
        return {
            line
            for weights, top in zip(weighed, most, strict=True)
            if top >= least
            for line, weight in weights.items()
            if weight >= top * _HALF
        }

    def telling(self, part: str, paths: Iterable[str]) -> Lines:
        """The added lines that a part of a page is about, by words and code that few lines have.

        Words count in sentences that order something; around them, pages tell how things are.
        """
        known = list(paths)
        weighed: dict[tuple[str, int], float] = {}
        for order in orders(part):
            if not order.title:
                said = order if order.orders else replace(order, words=frozenset())
                for line, weight in self._weights(said, known).items():
                    weighed[line] = max(weighed.get(line, 0.0), weight)
        most = max(weighed.values(), default=0.0)
        if most < _TELLING:
            return Lines()
        return {line for line, weight in weighed.items() if weight >= most * _HALF}

    def _weights(self, order: Order, paths: Sequence[str]) -> dict[tuple[str, int], float]:
        found: dict[tuple[str, int], float] = {}
        of_words = [[(path, self._with_stem(stem, path)) for path in paths] for stem in order.words]
        of_codes = [[(path, self._of_code(code, path)) for path in paths] for code in order.codes]
        for places in (*of_words, *of_codes):
            count = sum(len(numbers) for _, numbers in places)
            for path, numbers in places:
                for number in numbers:
                    found[path, number] = found.get((path, number), 0.0) + 1 / count
        return found

    def _of_order(self, order: Order, path: str) -> set[int]:
        found: set[int] = set()
        for name in order.subjects:
            found |= self._of_subject(name, path) if name not in _COMMON else set()
        for code in order.codes:
            found |= self._of_code(code, path)
        with_stem = [(stem, self._with_stem(stem, path)) for stem in order.stems]
        shared = Counter(number for _, numbers in with_stem for number in numbers)
        found |= {number for number, count in shared.items() if count >= _FEWEST_STEMS}
        if not order.codes:
            # A sentence that names code is about that code, and not about each word around it.
            found |= set().union(*(lines for stem, lines in with_stem if self._is_rare(stem)))
        return found

    def _of_code(self, code: str, path: str) -> frozenset[int]:
        key = (f"`{code}`", path)
        if key not in self._has:
            lines = self._reviewed.code_of(path)
            self._has[key] = frozenset(
                each for each in self._reviewed.files[path].added if has_code(code, lines, each)
            )
        return self._has[key]

    def _of_subject(self, name: str, path: str) -> frozenset[int]:
        key = (name, path)
        if key not in self._has:
            lines = self._reviewed.code_of(path)
            shown = lines.raw if name in _RAW else lines.told
            self._has[key] = frozenset(
                number
                for number in self._reviewed.files[path].added
                if number <= len(shown)
                and _is_about(name, shown[number - 1])
                and (name in _RAW or not _ONLY_TEXT.match(lines.code[number - 1]))
            )
        return self._has[key]

    def _with_stem(self, stem: str, path: str) -> frozenset[int]:
        """The added lines of a file that have a word which begins so."""
        if path not in self._stems:
            found: dict[str, set[int]] = {}
            lines = self._reviewed.code_of(path)
            for number in self._reviewed.files[path].added:
                if number > len(lines.told) or _ONLY_TEXT.match(lines.code[number - 1]):
                    continue
                for each in stems(lines.told[number - 1], PARTS):
                    found.setdefault(each, set()).add(number)
            self._stems[path] = {stem: frozenset(lines) for stem, lines in found.items()}
        return self._stems[path].get(stem, frozenset())

    def _is_rare(self, stem: str) -> bool:
        """Whether so few of the added lines have a word that it tells them from the others."""
        if stem not in self._rare:
            files = [each for each in self._reviewed.files.values() if each.code or each.settings]
            said = sum(len(self._with_stem(stem, each.path)) for each in files)
            added = sum(len(each.added) for each in files)
            self._rare[stem] = 0 < said <= max(1, added // _RARE)
        return self._rare[stem]

"""Whether lines of a file have the code that a rule forbids, however it is spelled.

Blanks do not count, a call is a call whatever it is given, and a name with a dot may be imported
by itself. Remarks and the words of strings are no code, so the whole file is read without them,
by the marks of its language; a string with a `{` in it may hold code and stays.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from hornbook.gates.test_files import is_test
from hornbook.review.evidence.ban_phrases import stands_for
from hornbook.review.evidence.bans import Ban
from hornbook.review.evidence.file_kinds import kind_of, words_of

_HASH = words_of(
    "py pyi rb sh bash zsh fish yaml yml toml tf hcl ex exs r pl pm jl nix mk cmake cfg ini "
    "Dockerfile Makefile justfile Gemfile Rakefile coffee"
)
_SLASH = words_of(
    "js jsx mjs cjs ts tsx mts cts java kt kts c h cc cpp cxx hpp cs go rs swift scala dart php "
    "groovy gradle scss less sol proto vue svelte m mm zig"
)
_DASH = words_of("sql lua hs elm")
_HYPHENS = words_of("css scss less sass html vue svelte sh bash yaml yml Dockerfile")
_ANY_CASE = words_of("sql html css scss less vb pas")
_TRIPLE = ('"""', "'''")
_QUOTES = ('"', "'", "`")
_CLOSED_BY = {"/*": "*/", "<!--": "-->"}
_IN_TRIPLE = {mark: re.compile(rf"(?:\\[\s\S]|(?!{mark})[^\\])*{mark}") for mark in _TRIPLE}
_IN_QUOTES = {mark: re.compile(rf"(?:\\.|[^{mark}\\\n])*{mark}") for mark in _QUOTES}
# A call with nothing, an ellipsis, numbers, plain strings or names that stand for any value.
_ANYTHING = (
    r"(?:\.\.\.|…|\d+(?!\d)|\b[^\W\d]\b|\"[\w .:/-]*\"|'[\w .:/-]*'|"
    r"\b(?:obj|object|name|value|key|args|error|err|exc|exception)\b)"
)
_CALL = re.compile(rf"\(\s*(?:{_ANYTHING}\s*(?:,\s*)?)*\)?$")
_TOKEN = re.compile(r"\.{3}|…|[\w$]+|\s+|[^\w\s]")
_PLACEHOLDERS = words_of("foo bar baz xxx module package something")
_RECEIVERS = words_of(
    "element elem el node obj object e ex err error exception self this session db conn cursor "
    "instance model req request res response ctx user client str string arr array list map value "
    "promise task future thread result"
)
_SIGNS = r"=!<>+\-*/%&|^~?:"
# Functions of languages whose names are methods of other things too.
_BUILT_IN = words_of(
    "eval exec print open input compile type id sum any all filter map format assert system "
    "require alert fetch exit die float var new delete global log"
)
_OWNERS = r"(?:builtins|__builtins__|window|globalThis|global|std|sys|core)"
_JOINED = re.compile(r"([\"'`])\s*(?:\+|\.{1,2}|<>|&|~|\|\|)\s*([\"'`])")
"""Between two strings that are put together."""
_ACRONYM = re.compile(r"[A-Z]{2,5}-?\d[\d.]*")
_SHORTEST_WORD = 2
_NEAR = 6
# Programs that rules tell not to run; in code these words are names of other things.
PROGRAMS = words_of(
    "pytest pip pip3 npm npx yarn pnpm python python3 node find grep sed awk curl wget git make "
    "docker sudo tox uv poetry gh kubectl cargo bun vitest jest mypy ruff eslint prettier tsc sh "
    "bash"
)
"""Programs by name; below, kinds of files that hold commands."""
_COMMANDS = words_of(
    "sh bash zsh fish yml yaml json toml mk Makefile Dockerfile justfile Procfile Jenkinsfile "
    "cfg ini"
)
_LETTERS = 4


def _marks_of(path: str) -> re.Pattern[str]:
    """What begins a string or a remark in the language of a file, as far as it is known."""
    kind = kind_of(path)
    marks = ['"'] if kind == "rs" else [*_TRIPLE, *_QUOTES]
    if kind in _SLASH or kind in _DASH or kind == "css":
        marks.append(r"/\*")
    if kind in _SLASH:
        marks.append("//")
    if kind in _HASH or kind == "php":
        marks.append(r"(?<![\w$&{])#")
    if kind in _DASH:
        marks.append("--")
    if kind in {"html", "vue", "svelte", "xml", "svg"}:
        marks.append("<!--")
    return re.compile("|".join(marks))


class CodeLines:
    """The lines of a file at hand: as they are, without remarks, and without words of strings."""

    def __init__(self, path: str, lines: Sequence[str]) -> None:
        self.path = path
        self.raw = lines
        text = "\n".join(lines)
        self.joined = {
            number: _JOINED.sub("", line)
            for number, line in enumerate(lines, 1)
            if _JOINED.search(line)
        }
        self.words = "\n".join((text, *self.joined.values())).lower()
        told, code, done = list[str](), list[str](), 0
        for start, end, mark in _strings_and_remarks(text, _marks_of(path)):
            between, found = text[done:start], text[start:end]
            is_string = mark in _TRIPLE or mark in _QUOTES
            told += [between, found if is_string else _blank(found)]
            code += [between, _without_words(found) if is_string else _blank(found)]
            done = end
        self.told = "".join([*told, text[done:]]).split("\n")
        self.code = "".join([*code, text[done:]]).split("\n")


def _strings_and_remarks(text: str, marks: re.Pattern[str]) -> Iterator[tuple[int, int, str]]:
    """Where strings and remarks begin and end, with the mark that begins each.

    A mark that is never closed begins nothing. Nor does the same mark behind it, up to where its
    end was looked for: that is not looked for again, so that each letter is read a few times.
    """
    unclosed: dict[str, int] = {}
    place = 0
    while (found := marks.search(text, place)) is not None:
        start, place = found.start(), found.start() + 1
        for mark in (found[0], found[0][0]) if found[0] in _TRIPLE else (found[0],):
            if start < unclosed.get(mark, 0):
                continue
            end = _end(text, mark, start + len(mark))
            if end is not None:
                yield start, end, mark
                place = end
                break
            line_end = text.find("\n", start) if mark in _QUOTES else -1
            unclosed[mark] = line_end if line_end >= 0 else len(text)


def _end(text: str, mark: str, start: int) -> int | None:
    """Behind the end of what a mark begins, if it has one."""
    if mark in _CLOSED_BY:
        end = text.find(_CLOSED_BY[mark], start)
        return end + len(_CLOSED_BY[mark]) if end >= 0 else None
    string = _IN_TRIPLE.get(mark) or _IN_QUOTES.get(mark)
    if string is None:
        end = text.find("\n", start)
        return end if end >= 0 else len(text)
    closed = string.match(text, start)
    return closed.end() if closed is not None else None


def _blank(text: str) -> str:
    return "\n" * text.count("\n")


def _without_words(string: str) -> str:
    return string if "{" in string else string[0] + _blank(string) + string[-1]


def offence(ban: Ban, lines: CodeLines, number: int) -> bool | None:
    """Whether a line breaks a ban: surely (True), perhaps (False), or not (None)."""
    path = lines.path
    if not _may_stand(ban, lines, number):
        return None
    if ban.tests is not None and ban.tests is not is_test(path):
        return None
    if ban.outside and any(_is_at(place, path) for place in ban.outside.split("\n")):
        return None
    firm = _stands(ban, lines, number)
    if firm is None:
        return None
    if ban.along and not _finder("code", ban.along, kind_of(path))(lines.told[number - 1]):
        return None
    if ban.lacking and _has_near(ban, lines, number):
        return None
    if ban.within and ban.within not in path.lower():
        return False
    return firm and ban.firm


def may_offend(ban: Ban, lines: CodeLines) -> bool:
    """Whether some line of a file may break a ban: most files have no word of it."""
    key = _key(ban.aspect, ban.code)
    return not key or key in lines.words


def _may_stand(ban: Ban, lines: CodeLines, number: int) -> bool:
    """The same of a line: whether it has the longest word of the ban, if that is known."""
    key = _key(ban.aspect, ban.code)
    if number > len(lines.raw):
        return False
    return not key or key in lines.joined.get(number, lines.raw[number - 1]).lower()


@lru_cache(maxsize=4096)
def _key(aspect: str, code: str) -> str:
    """The longest word of a ban that no form of it lacks, in small letters; empty if there is none.

    Names that stand for any are no such word, nor are those of arguments.
    """
    if aspect in _WHOLE or aspect == "text":
        return ""
    called = _CALL.search(code)
    words = re.findall(r"[^\W_]\w*", code[: called.start()] if called is not None else code)
    known = [each for each in words if not _stands_for_any(each)]
    return max(known, key=len, default="").lower()


def _stands_for_any(word: str) -> bool:
    return len(word) < _SHORTEST_WORD or word.lower() in _PLACEHOLDERS | _RECEIVERS


def _is_at(place: str, path: str) -> bool:
    """Whether a file lies in a place that a rule names: a part of its path, or tests."""
    return place.strip("/*") in path or (place.startswith("test") and is_test(path))


def _stands(ban: Ban, lines: CodeLines, number: int) -> bool | None:
    whole = _WHOLE.get(ban.aspect)
    if whole is not None:
        return whole(ban, lines, number)
    if _is_exempt(ban, lines, number):
        return None
    exact = ban.lacking and ban.code.endswith("()")
    if ban.aspect == "text" or exact:
        return _squeezed(ban.code) in _squeezed(lines.told[number - 1]) or None
    line = _looked_at(ban, lines)[number - 1]
    kind = kind_of(lines.path)
    if _finder(ban.aspect, ban.code, kind)(line):
        return not is_of_another(ban, line)
    if ban.aspect == "code" and _finder("import", ban.code, kind)(lines.told[number - 1]):
        return True
    if ban.aspect != "code" or not ban.code[:1].isalpha():
        return None
    # Nobody writes a name in pieces who has no need to hide it.
    if _is_word_of(_CALL.sub("", ban.code), lines.joined.get(number, "")):
        return True
    # A name in a string may still be what is run: `getInstance("MD5")`, `import "crypto/md5"`.
    told = lines.told[number - 1]
    spelled = _ACRONYM.fullmatch(ban.code) and _is_word_of(_squeezed_name(ban.code), told.lower())
    return False if spelled or _quoted(ban.code).search(told) else None


def _squeezed_name(code: str) -> str:
    return code.replace("-", "").lower()


def _is_word_of(word: str, line: str) -> bool:
    return word in line and re.search(rf"(?<![\w]){re.escape(word)}(?!\w)", line) is not None


@lru_cache(maxsize=2048)
def _quoted(code: str) -> re.Pattern[str]:
    """A string that holds nothing but some code."""
    return re.compile(rf"([\"'`]){re.escape(code)}\1")


def _is_exempt(ban: Ban, lines: CodeLines, number: int) -> bool:
    """Whether a line has only the name of a program, which is no command there."""
    return ban.aspect == "code" and ban.code in PROGRAMS and kind_of(lines.path) not in _COMMANDS


def _is_line(ban: Ban, lines: CodeLines, number: int) -> bool | None:
    """Whether the lines of an example stand here, one or a few of them."""
    count = ban.code.count("\n") + 1
    here = map(_squeezed, lines.told[number - 1 : number - 1 + count])
    return "\n".join(here) == ban.code or None


def _is_meant(ban: Ban, lines: CodeLines, number: int) -> bool | None:
    return stands_for(ban.code, kind_of(lines.path), lines.told, lines.raw, number)


_WHOLE = {
    "line": _is_line,
    "lines": _is_line,
    "concept": _is_meant,
}


def has_code(code: str, lines: CodeLines, number: int) -> bool:
    """Whether a line has some code, in remarks or strings too."""
    if number > len(lines.raw):
        return False
    line = lines.raw[number - 1]
    return _finder("code", code, kind_of(lines.path))(line) or _squeezed(code) in _squeezed(line)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _looked_at(ban: Ban, lines: CodeLines) -> Sequence[str]:
    """The lines that a ban is about: with remarks, with strings, or without both."""
    if ban.aspect == "remark":
        return lines.raw
    if ban.aspect == "import" or re.search(r"[\s/\"':]", ban.code):
        return lines.told
    return lines.code


def is_of_another(ban: Ban, line: str) -> bool:
    """Whether a line has the name of a built-in function only as a method of something."""
    word = _CALL.sub("", ban.code)
    own = rf"(?:(?<![\w.$])|\b{_OWNERS}\s*\.\s*){re.escape(word)}(?![\w$])"
    return word in _BUILT_IN and re.search(own, line) is None


def _has_near(ban: Ban, lines: CodeLines, number: int) -> bool:
    """Whether what excuses a ban stands in the statement, or begins like a word of it."""
    near = " ".join(lines.told[number - 1 : number - 1 + _NEAR])
    if re.fullmatch(r"[\w-]+", ban.lacking):
        return re.search(rf"(?<![A-Za-z]){_stem(ban.lacking)}", near, re.IGNORECASE) is not None
    return _finder("code", ban.lacking, kind_of(lines.path))(near)


def _stem(word: str) -> str:
    """The begin of a word that its forms share: `log` of "logging", `rais` of "re-raising"."""
    last = word.lower().rpartition("-")[2]
    stem = re.sub(r"(?:ing|ed|es|s|e)$", "", last)
    stem = stem[:-1] if stem != last and stem[-1:] == stem[-2:-1] else stem
    return re.escape(stem if len(stem) >= _LETTERS - 1 else last)


@lru_cache(maxsize=2048)
def _finder(aspect: str, code: str, kind: str) -> Callable[[str], bool]:
    flags = re.IGNORECASE if kind in _ANY_CASE else 0
    forms = [re.compile(form, flags) for form in _forms(aspect, code, kind)]

    def finds(line: str) -> bool:
        squeezed = " ".join(line.split())
        return any(form.search(squeezed) for form in forms)

    return finds


def _forms(aspect: str, code: str, kind: str) -> Iterator[str]:
    name = re.escape(code)
    last = re.escape(code.rpartition(".")[2])
    if aspect == "call":
        yield rf"(?<![\w$'\"-]){name}\s*\("
    elif aspect == "type":
        yield rf"(?:[:<|&,\[(]\s*|\bas\s+|->\s*){name}(?![\w$])|(?<![\w.$]){name}\s*\[\]"
    elif aspect == "import":
        yield from _imports(code, kind)
    elif aspect == "raise":
        yield rf"\b(?:raise|throw(?:\s+new)?|throws)\s+(?:[\w.]+\.)?{last}(?![\w$])"
    elif aspect == "catch":
        yield rf"\b(?:except|catch|rescue)\b[^\n]*(?<![\w$]){last}(?![\w$])"
    elif aspect == "return":
        yield rf"\breturn\b\s*{name}(?![\w$])"
        yield rf"\)\s*(?::|->)\s*{name}(?![\w$])"
    else:
        yield _form(code, kind)
        if code in _BUILT_IN:
            yield rf":\s*{name}\s*="


def _imports(code: str, kind: str) -> Iterator[str]:
    if code.endswith("/*") and re.fullmatch(r"[\w.@/$-]+", code[:-2]):
        yield rf"\b(?:import|from|require|export)\b[^\n]*['\"]{re.escape(code[:-1])}"
    if not re.fullmatch(r"[\w.@/$-]+", code):
        return
    name = re.escape(code).replace("/", "[/.]") if "@" not in code else re.escape(code)
    quoted = rf"['\"<]{name}(?:\.h)?['\">]"
    if kind in {"py", "pyi"}:
        yield rf"^\s*from\s+{name}(?:\.[\w.]+)?\s+import\b"
        yield rf"^\s*import\s+(?:[\w.\s,]+,\s*)?{name}(?![\w])"
        owner, dot, last = code.rpartition(".")
        if dot:
            yield rf"^\s*from\s+{re.escape(owner)}\s+import\b.*(?<!\w){re.escape(last)}(?!\w)"
        return
    yield rf"\b(?:import|from|require|require_relative|include|export)\b[^\n]*{quoted}"
    if kind == "go":
        yield rf"^\s*(?:[\w.]+\s+)?\"{name}\"\s*$"
    if kind in {"java", "kt", "kts", "scala", "cs", "rs", "swift", "php", "groovy"}:
        owner = r"(?:[\w.:\\]+[.:\\])?"
        yield rf"^\s*(?:import|using|use|pub\s+use)\s+(?:static\s+)?{owner}{name}(?![\w-])"
    owner, dot, last = code.rpartition(".")
    if dot and kind in {"js", "jsx", "ts", "tsx", "mjs", "cjs"}:
        yield (
            rf"[{{,]\s*{re.escape(last)}\b[^}}\n]*}}\s*(?:from|=\s*require\()\s*"
            rf"['\"](?:node:)?{re.escape(owner)}['\"]"
        )


def _form(code: str, kind: str) -> str:
    """A piece of code as a pattern."""
    body = code.strip().rstrip(";").strip()
    body = re.sub(r"(=\s*\{+)\s*\}+$", r"\1", body)
    if re.fullmatch(r"<[a-zA-Z][\w-]*>", body):
        return rf"{re.escape(body[:-1])}(?![\w-])"
    called = _CALL.search(body) if re.search(r"[\w!?]\s*\(", body) else None
    if called is not None and body.startswith(".") and any(map(str.isdigit, called[0])):
        called = None
    body = body[: called.start()] if called is not None else body
    tokens = _TOKEN.findall(body)
    if not tokens:
        return r"(?!)"
    words = sum(_is_word(token) for token in tokens)
    pattern = "".join(_token(tokens, place, words) for place in range(len(tokens)))
    hyphen = "-" if kind in _HYPHENS else ""
    before = "" if pattern.startswith("[") else _before(tokens[0], hyphen, words=words)
    after = r"\s*(?:\?\.)?[({]" if called is not None else _after(tokens, hyphen, words=words)
    return f"{before}{pattern}{after}"


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] in "_$"


def _before(first: str, hyphen: str, *, words: int) -> str:
    """What must not stand before: more of the same word, or of the same sign."""
    if _is_word(first):
        return rf"(?<![\w$@{hyphen}])"
    return rf"(?<![{_SIGNS}])" if not words and first in _SIGNS else ""


def _after(tokens: Sequence[str], hyphen: str, *, words: int) -> str:
    """What must not stand behind; what an argument is called is no use of it."""
    last = tokens[-1]
    if _is_word(last):
        alone = last if len(tokens) == 1 else ""
        named = r"(?!\s*=(?!=))" if alone in _BUILT_IN else ""
        prose = r"(?!\s+[a-z])" if alone in {"any", "Any"} else ""
        return rf"(?![\w${hyphen}]){named}{prose}"
    if last == "=":
        return r"(?![=>])"
    if last == ">" and "<" in tokens:
        return ""
    if last in "<>&|":
        return rf"(?![{_SIGNS}])"
    return r"(?=\w)" if last == "." and not words else ""


def _token(tokens: Sequence[str], place: int, words: int) -> str:
    """A token as a pattern; single letters and the like stand for any name."""
    part = tokens[place]
    ahead = tokens[place + 1] if place + 1 < len(tokens) else ""
    behind = tokens[place - 1] if place else ""
    if part.isspace():
        return _blanks(behind, ahead)
    if part in {"...", "…"}:
        return r"[^\n]*?"
    if part == "*" and re.match(r"[\w.]", behind) and not ahead:
        return r"\w*"
    if _is_word(part):
        if part.startswith("$") and len(part) > 1 and words > 1:
            return r"\$\{?\w+\}?"
        generic = (len(part) == 1 and part.isalpha()) or part.lower() in _PLACEHOLDERS
        receiver = place == 0 and ahead == "." and part in _RECEIVERS
        return r"[\w.$\])]+" if words > 1 and (generic or receiver) else re.escape(part)
    return _sign(part, behind, ahead)


def _blanks(behind: str, ahead: str) -> str:
    """Blanks between two tokens; before and behind a pipe there may be more."""
    if behind == "|":
        return r"\s*(?:sudo\s+)?"
    if ahead == "|":
        return r"\b[^|\n]*"
    return r"\s+" if _is_word(behind[-1:] or " ") and re.match(r"[\w$-]", ahead) else r"\s*"


def _sign(sign: str, behind: str, ahead: str) -> str:
    if sign in "\"'`":
        return "[\"'`]"
    spaced = r"\s*" if behind and not behind.isspace() else ""
    if sign in "=:,(){}[]<>+" and behind and ahead:
        return rf"{spaced}{re.escape(sign)}\s*"
    if sign in ":=" and behind and not ahead:
        return rf"{spaced}{re.escape(sign)}"
    return re.escape(sign)


_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LIMIT = re.compile(
    r"(?:\b(?:not|no|never|cannot)\b[^.;]{0,40}?\b(?:more|longer|deeper|larger)\s+than|"
    r"\bat\s+most|\bup\s+to|\bmax(?:imum)?(?:\s+of)?|\bnot\s+exceed|\blimited\s+to)\s+"
    rf"(?P<count>\d+|{'|'.join(_NUMBERS)})\s+(?:\w+\s+)?"
    r"(?P<what>parameter|argument|line|level)s?\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(r"\b(?:unless|except|should|prefer\w*|try|aim)\b", re.IGNORECASE)
_OF_FILES = re.compile(r"\b(?:files?|modules?)\b", re.IGNORECASE)
_CONTROL = re.compile(
    r"\s*(?:\}\s*)?(?:for|foreach|if|elif|else|elsif|while|until|unless|switch|match|case|try|with|"
    r"loop|do)\b"
)
_FUNCTION = re.compile(
    r"\s*(?:[a-z]+\s+)*?(?:def|func|fn|function|fun|sub|proc)\s+(?:\([^)]*\)\s*)?[\w.]+\s*(?:<[^>]*>)?"
    r"(?P<a>\()|\s+(?:[\w<>\[\],.?]+\s+)+\w+\s*(?P<b>\()[^;]*\{\s*$|"
    r"\s*(?:export\s+)?const\s+\w+\s*=\s*(?:async\s*)?(?P<c>\()[^;]*=>\s*\{\s*$"
)
_LONGEST_HEAD = 20
_NO_PARAMETERS = words_of("self cls this &self *self * /")


def excesses(
    text: str, lines: CodeLines, numbers: Iterable[int]
) -> Iterator[tuple[str, int, bool]]:
    """The new functions and files that go over a number which a rule states, in words and by line.

    That is counted: parameters, lines of a body and levels of nesting. The last value tells whether
    the rule states it without a condition.
    """
    new = set(numbers)
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        for limit in _LIMIT.finditer(sentence):
            most, what = _number(limit["count"]), limit["what"].lower()
            sure = _UNSURE.search(sentence) is None
            if what == "line" and _OF_FILES.search(sentence, 0, limit.start()):
                if new and len(lines.raw) > most:
                    yield f"a file of {len(lines.raw)} lines", min(new), sure
                continue
            for number in sorted(new):
                count = _counted(what, lines.code, number)
                if count > most:
                    yield f"a function with {count} {what}s", number, sure


def _number(said: str) -> int:
    return int(said) if said.isdecimal() else _NUMBERS.index(said.lower()) + 1


def _counted(what: str, code: Sequence[str], number: int) -> int:
    """How many of something a function has that is defined in a line; none if none is."""
    head = _FUNCTION.match(code[number - 1]) if number <= len(code) else None
    if head is None or _CONTROL.match(code[number - 1]):
        return 0
    opened = max(head.start(each) for each in "abc")
    given, end = _parameters(code[number - 1 : number - 1 + _LONGEST_HEAD], opened)
    if what in {"parameter", "argument"}:
        return len(
            [each for each in given if each not in {"self", "cls", "this", "&self", "*", "/"}]
        )
    own, body = _indent(code[number - 1]), list[str]()
    for line in code[number + end :]:
        if line.strip() and _indent(line) <= own:
            break
        body += [line] if line.strip() else []
    if what == "line":
        return len(body)
    step = min((_indent(line) - own for line in body), default=1)
    nested = [(_indent(line) - own) // step for line in body if _CONTROL.match(line)]
    return max(nested, default=0)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _parameters(head: Sequence[str], opened: int) -> tuple[list[str], int]:
    """What stands between the brackets of a definition, and how many lines it goes on."""
    depth, said, given = 0, "", list[str]()
    for place, line in enumerate(head):
        for letter in line[opened:] if place == 0 else line:
            depth += (letter in "([{<") - (letter in ")]}>")
            if depth == 0:
                return [each for each in (*given, said.strip()) if each], place
            if letter == "," and depth == 1:
                given, said = [*given, said.strip()], ""
            elif not (letter == "(" and depth == 1):
                said += letter
    return given, 0

"""Which files a program writes, by its name and arguments."""

import re
from collections.abc import Callable, Sequence

from hornbook.shell.guard.words import UNKNOWN, Arguments, Target, WordText, arguments
from hornbook.shell.programs import WRITES_OPERANDS

_OPERANDS_BEHIND_FIRST = frozenset({"chmod", "chown", "chgrp"})
_DESTINATION_OPTIONS = "-t --target-directory -S --suffix -m --mode -o --owner -g --group"
_RSYNC_OPTIONS = (
    "-e --rsh --exclude --include --filter -f --files-from --exclude-from --include-from "
    "--backup-dir --log-file --partial-dir --chmod --chown --bwlimit --timeout --port"
)
_REMOTE = r"[^/]+:"
_CURL_OPTIONS = (
    "-o -D -c -A -b -C -d -e -E -F -H -K -m -P -Q -r -t -T -u -U -w -x -X -y -Y -z --output "
    "--output-dir --dump-header --cookie-jar --data --header --request --user --user-agent "
    "--referer --form --cookie --max-time --connect-timeout --retry --proxy --cacert --cert --key "
    "--write-out --upload-file --range --url"
)


def targets(program: str, given: Sequence[WordText]) -> list[Target]:
    """The files that the program writes, as far as its arguments tell."""
    if program in WRITES_OPERANDS:
        takes, how = WRITES_OPERANDS[program]
        return [(each, how) for each in arguments(given, takes).operands]
    if program in _OPERANDS_BEHIND_FIRST:
        found = arguments(given, "--reference --from")
        changed = found.operands[0 if found.has("--reference") else 1 :]
        return [(each, "tree" if found.has("-R", "--recursive") else "file") for each in changed]
    reader = _READERS.get(program)
    return reader(given) if reader else []


def _destination(
    given: Sequence[WordText], takes: str
) -> tuple[Arguments, list[WordText], list[Target]]:
    """The arguments, the sources, and where they go; into a folder under their own names."""
    found = arguments(given, takes)
    folders = found.values("-t", "--target-directory")
    if folders:
        return (
            found,
            found.operands,
            [(_joined(folders[0], each), "file") for each in found.operands],
        )
    if len(found.operands) < 2:
        return found, found.operands[:1], []
    *sources, last = found.operands
    if len(sources) > 1 or last.text.endswith("/"):
        return found, sources, [(_joined(last, each), "file") for each in sources]
    return found, sources, [(last, "into-or-file:" + _base(sources[0]))]


def _base(path: WordText) -> str:
    name = path.text.rstrip("/").rpartition("/")[2]
    return UNKNOWN if path.wild or not path.known else name


def _joined(folder: WordText, source: WordText) -> WordText:
    return WordText(f"{folder.text.rstrip('/')}/{_base(source)}", folder.wild)


def _copy(given: Sequence[WordText]) -> list[Target]:
    return _destination(given, _DESTINATION_OPTIONS)[2]


def _install(given: Sequence[WordText]) -> list[Target]:
    found = arguments(given, _DESTINATION_OPTIONS)
    if found.has("-d", "--directory"):
        return [(each, "folder") for each in found.operands]
    return _copy(given)


def _move(given: Sequence[WordText]) -> list[Target]:
    _, sources, written = _destination(given, _DESTINATION_OPTIONS)
    return [*((each, "tree") for each in sources), *written]


def _link(given: Sequence[WordText]) -> list[Target]:
    """A link opens a second way to its source, so the source counts as written."""
    found, sources, written = _destination(given, _DESTINATION_OPTIONS)
    if len(found.operands) == 1:
        written = [(WordText(_base(found.operands[0])), "file")]
    if written and found.has("-s", "--symbolic") and not found.has("-r", "--relative"):
        place = written[0][0].text.rpartition("/")[0]
        sources = [_seen_from(place, each) for each in sources]
    return [*((each, "file") for each in sources), *written]


def _seen_from(place: str, source: WordText) -> WordText:
    """What a symbolic link in a folder leads to."""
    if source.text.startswith("/") or not place:
        return source
    return WordText(f"{place}/{source.text}")


def _synchronise(given: Sequence[WordText]) -> list[Target]:
    found = arguments(given, _RSYNC_OPTIONS)
    if len(found.operands) < 2 or found.has("-n", "--dry-run"):
        return []
    last = found.operands[-1]
    how = "tree" if any(name.startswith("--delete") for name in found.options) else "into"
    return [] if re.match(_REMOTE, last.text) else [(last, how)]


def _secure_copy(given: Sequence[WordText]) -> list[Target]:
    last = arguments(given, "-P -i -o -F -l -c -J -S").operands[-1:]
    return [(each, "into") for each in last if not re.match(_REMOTE, each.text)]


def _dd(given: Sequence[WordText]) -> list[Target]:
    return [
        (WordText(each.text[3:], each.wild), "file") for each in given if each.text[:3] == "of="
    ]


def _sort(given: Sequence[WordText]) -> list[Target]:
    found = arguments(given, "-o --output -k -t -S -T --key --field-separator")
    return [(each, "file") for each in found.values("-o", "--output")]


def _curl(given: Sequence[WordText]) -> list[Target]:
    """`curl` takes a short option's value from the same word, wherever the letter stands in it."""
    found = arguments(given, _CURL_OPTIONS)
    written = found.values("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar")
    if found.has("-O", "--remote-name"):
        written += [WordText(_base(each)) for each in given if "://" in each.text]
    folder = "".join(f"{each.text}/" for each in found.values("--output-dir")[:1])
    return [(WordText(folder + each.text), "file") for each in written if each.text != "-"]


def _wget(given: Sequence[WordText]) -> list[Target]:
    found = arguments(
        given, "-O --output-document -P --directory-prefix -o --output-file -U --header"
    )
    named = found.values("-O", "--output-document")
    if not named and not found.has("--spider"):
        folder = "".join(f"{each.text}/" for each in found.values("-P", "--directory-prefix")[:1])
        named = [WordText(folder + _base(each)) for each in found.operands]
    return _named_files(named)


def _tar(given: Sequence[WordText]) -> list[Target]:
    rest = list(given)
    if rest and not rest[0].text.startswith("-"):
        rest[0] = WordText("-" + rest[0].text)
    found = arguments(rest, "-f --file -C --directory -T -X --exclude --transform")
    if found.has("-x", "--extract", "--get"):
        folders = found.values("-C", "--directory") or [WordText(".")]
        return [] if found.has("-O", "--to-stdout") else [(each, "into") for each in folders]
    writes = found.has("-c", "--create", "-r", "--append", "-u", "--update")
    return _named_files(found.values("-f", "--file")) if writes else []


def _named_files(paths: Sequence[WordText]) -> list[Target]:
    """Files to write; `-` is what the program prints."""
    return [(each, "file") for each in paths if each.text != "-"]


def _unzip(given: Sequence[WordText]) -> list[Target]:
    found = arguments(given, "-d -x -P")
    if found.has("-l", "-p", "-t", "-z", "-Z"):
        return []
    return [(each, "into") for each in found.values("-d") or [WordText(".")]]


def _zip(given: Sequence[WordText]) -> list[Target]:
    return _named_files(arguments(given, "-x -i -P").operands[:1])


def _patch(given: Sequence[WordText]) -> list[Target]:
    found = arguments(given, "-i --input -p --strip -d --directory -o --output -r -D -F -B")
    if found.has("--dry-run"):
        return []
    named = found.operands[:1] + found.values("-o", "--output")
    return [(each, "file") for each in named] or [(WordText(UNKNOWN), "file")]


def _stream_editor(given: Sequence[WordText]) -> list[Target]:
    """`sed`: `-i` may carry a suffix, and the first operand is the script unless `-e` gives it."""
    in_place = any(re.match(r"-[nErsuz]*i|--in-place", each.text) for each in given)
    if not in_place:
        return []
    plain = [each for each in given if not re.match(r"-[nErsuz]*i|--in-place", each.text)]
    found = arguments(plain, "-e -f --expression --file -l")
    scripts = found.has("-e", "-f", "--expression", "--file")
    operands = found.operands[0 if scripts else 1 :]
    # The BSD form has the suffix as a word of its own, which an empty word shows.
    return [(each, "file") for each in operands if each.text]


def _unpack_compressed(given: Sequence[WordText]) -> list[Target]:
    found = arguments(given, "-o")
    return [(each, "file") for each in found.values("-o")]


_READERS: dict[str, Callable[[Sequence[WordText]], list[Target]]] = {
    "cp": _copy,
    "mv": _move,
    "ln": _link,
    "install": _install,
    "rsync": _synchronise,
    "scp": _secure_copy,
    "dd": _dd,
    "sort": _sort,
    "curl": _curl,
    "wget": _wget,
    "tar": _tar,
    "bsdtar": _tar,
    "unzip": _unzip,
    "zip": _zip,
    "patch": _patch,
    "sed": _stream_editor,
    "gsed": _stream_editor,
    "zstd": _unpack_compressed,
}

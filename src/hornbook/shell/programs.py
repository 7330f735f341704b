"""The one table of programs: what the readers of gate commands and of agents' commands know.

Plain data and no import, because a hook loads it at every call of an agent. `hornbook.shell.player`
reads it to tell whether a gate's command can fail, `hornbook.shell.guard` to tell what a command
would write. A program that both must know is entered here once.
"""

ANY = -1
"""As many operands as there are, up to `--` or an option of `BEHIND`."""

WRAPPERS: dict[str, tuple[tuple[str, ...], str, int]] = {
    # name: the verbs that make it run something (none: it always does), the options that take a
    # value, and how many operands of its own stand before the inner command.
    # What runs elsewhere (`docker`, `ssh`, `kubectl`) is no wrapper: it has other files.
    "busybox": ((), "", 0),
    "builtin": ((), "", 0),
    "caffeinate": ((), "-t -w", 0),
    "chronic": ((), "", 0),
    "chrt": ((), "-T -P -D", 1),
    "command": ((), "", 0),
    "cross-env": ((), "", 0),
    "cross-env-shell": ((), "", 0),
    "dbus-run-session": ((), "--config-file --dbus-daemon", 0),
    "doas": ((), "-u -C", 0),
    "env": ((), "-u -C -S --unset --chdir --split-string", 0),
    "exec": ((), "-a", 0),
    "fakeroot": ((), "-l -s -i -b --lib --faked", 0),
    "flock": ((), "-w -E -c --timeout --wait --conflict-exit-code --command", 1),
    "gtimeout": ((), "-k -s --kill-after --signal", 1),
    "ionice": ((), "-c -n -p --class --classdata --pid", 0),
    "ltrace": ((), "-a -A -D -e -F -l -n -o -p -s -u -x", 0),
    "nice": ((), "-n --adjustment", 0),
    "nohup": ((), "", 0),
    "runuser": ((), "-u -g -G -c -s -w --user --group --supp-group --command --shell", 0),
    "script": ((), "-c -o -m -B -E -I -O -T --command --output-limit --log-io", ANY),
    "setsid": ((), "", 0),
    "stdbuf": ((), "-i -o -e --input --output --error", 0),
    "strace": ((), "-a -b -e -E -I -o -O -p -P -s -S -u -U -X --trace --output --user --env", 0),
    "su": ((), "-c -g -G -s -w --command --group --supp-group --shell", ANY),
    "sudo": (
        (),
        (
            "-u -g -h -p -C -D -R -r -t -T -U --user --group --host --prompt --chdir --chroot "
            "--role --type --other-user --command-timeout"
        ),
        0,
    ),
    "systemd-run": (
        (),
        (
            "-u -p -E -H -M --unit --property --setenv --host --machine --slice --description "
            "--uid --gid --nice --working-directory"
        ),
        0,
    ),
    "taskset": ((), "", 1),
    "time": ((), "-f -o --format --output", 0),
    "timeout": ((), "-k -s --kill-after --signal", 1),
    "unbuffer": ((), "", 0),
    "watch": ((), "-n -q --interval --equexit", 0),
    "xargs": (
        (),
        (
            "-I -n -P -L -d -a -s -E --max-args --max-procs --max-lines --max-chars --delimiter "
            "--arg-file"
        ),
        0,
    ),
    "xvfb-run": (
        (),
        (
            "-e -f -n -p -s -w --error-file --auth-file --server-num --xauth-protocol "
            "--server-args --wait"
        ),
        0,
    ),
    # Tools of a language that run what its packages bring
    "asdf": (("exec",), "", 0),
    "bun": (("x",), "-p --package --cwd", 0),
    "bundle": (("exec",), "--gemfile", 0),
    "bunx": ((), "-p --package", 0),
    "conda": (("run",), "-n -p --name --prefix --cwd", 0),
    "hatch": (("run", "env run"), "-e -p --env --project --config --data-dir --cache-dir", 0),
    "mamba": (("run",), "-n -p --name --prefix --cwd", 0),
    "micromamba": (("run",), "-n -p --name --prefix --cwd", 0),
    "nodenv": (("exec",), "", 0),
    "npm": (
        ("exec", "x"),
        (
            "-p -c -w -C --package --call --workspace --prefix --cache --registry --loglevel "
            "--userconfig"
        ),
        0,
    ),
    "npx": (
        (),
        "-p -c -w --package --call --workspace --prefix --cache --registry --userconfig",
        0,
    ),
    "pdm": (("run",), "-p -c --project --config --venv", 0),
    "pipenv": (("run",), "--python --pypi-mirror", 0),
    "pipx": (("run",), "-i --spec --python --index-url --pip-args", 0),
    "pixi": (
        ("run", "exec"),
        "-e -m -s -c -w --environment --manifest-path --spec --channel --with --color",
        0,
    ),
    "pnpm": (("exec", "dlx"), "-C -F -p --dir --filter --package", 0),
    "pnpx": ((), "-p --package", 0),
    "poetry": (("run",), "-C -P --directory --project", 0),
    "pyenv": (("exec",), "", 0),
    "rbenv": (("exec",), "", 0),
    "rye": (("run",), "--pyproject", 0),
    "uv": (
        ("run", "tool run"),
        (
            "-p -i -f -P -w --with --with-editable --with-requirements --from --python --extra "
            "--group --only-group --no-group --package --project --directory --env-file --index "
            "--default-index --index-url --extra-index-url --find-links --cache-dir --config-file "
            "--color --link-mode --refresh-package --reinstall-package --upgrade-package"
        ),
        0,
    ),
    "uvx": (
        (),
        (
            "-p -i -w --from --with --with-editable --with-requirements --python --env-file "
            "--directory --index --default-index --index-url --extra-index-url --find-links "
            "--cache-dir --config-file --color"
        ),
        0,
    ),
    "yarn": (("exec", "dlx"), "-p --package --cwd", 0),
    # Tools that bring an environment with them
    "aws-vault": (("exec",), "-d -t --duration --mfa-token --region", 1),
    "direnv": (("exec",), "", 1),
    "doppler": (("run",), "-p -c -t --project --config --token --scope", 0),
    "dotenvx": (("run",), "-f -e --env-file --env", 0),
    "mise": (("exec", "x"), "-j -C -c --jobs --cd --command", ANY),
    "nix": (("develop", "shell"), "-I -f --arg --argstr --file --expr --option", ANY),
    "nix-shell": ((), "-p -I -A -E --run --command --arg --argstr --attr --expr", ANY),
    "op": (("run",), "--env-file --account", 0),
}
SCRIPT_OPTIONS = {
    "env": "-S --split-string",
    "flock": "-c --command",
    "mise": "-c --command",
    "nix-shell": "--run --command",
    "npm": "-c --call",
    "npx": "-c --call",
    "runuser": "-c --command",
    "script": "-c --command",
    "su": "-c --command",
}
"""Options whose value a wrapper hands to a shell."""

BEHIND = {"nix": "-c --command"}
"""Options behind which all words are the inner command, as behind `--`."""

FOLDER_OPTIONS = {
    "conda": "--cwd",
    "env": "-C --chdir",
    "mise": "-C --cd",
    "pnpm": "-C --dir",
    "poetry": "-C --directory",
    "sudo": "-D --chdir",
    "systemd-run": "--working-directory",
    "uv": "--directory",
    "uvx": "--directory",
}
"""Options that say in which folder the inner command runs."""


def program_name(word: str) -> str:
    """A program's name without its folder; what a variable names stays as it is written."""
    return word if word.startswith("$") else word.rpartition("/")[2]


def names(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


SHELLS = names("sh bash dash ash zsh ksh")
AWKS = names("awk gawk mawk nawk")
INLINE_CODE = {
    "python": "-c",
    "node": "-e -p --eval --print",
    "bun": "-e --eval",
    "deno": "",
    "ruby": "-e",
    "perl": "-e -E",
    "php": "-r",
    "lua": "-e",
    "Rscript": "-e",
    "osascript": "-e",
}
"""Interpreters, with the options that give them code."""
SAME_INTERPRETER = {"pypy": "python", "nodejs": "node"}
INTERPRETERS = frozenset((*INLINE_CODE, *SAME_INTERPRETER, *AWKS))
"""Their names, without the version behind a name."""

WRITES_OPERANDS = {
    # The options that take a value, and how each operand is written: `file`, `folder` (made if it
    # is not there) or `tree` (with all below it).
    "rm": ("", "tree"),
    "rmdir": ("", "file"),
    "unlink": ("", "file"),
    "touch": ("-d -t -r --date --reference", "file"),
    "mkdir": ("-m --mode -Z", "folder"),
    "truncate": ("-s -r --size --reference", "file"),
    "tee": ("", "file"),
    "shred": ("-n -s --iterations --size", "file"),
    "mkfifo": ("-m --mode", "file"),
    "ed": ("-p", "file"),
    "ex": ("-c", "file"),
    "gzip": ("-S", "file"),
    "gunzip": ("-S", "file"),
    "bzip2": ("", "file"),
    "xz": ("", "file"),
    "sponge": ("", "file"),
    "trash": ("", "tree"),
}
WRITERS = names(
    """
    bsdtar chgrp chmod chown cp curl dd gsed install ln mv patch rsync scp sed sort tar unzip wget
    zip zstd
    """
).union(WRITES_OPERANDS)
"""Programs that write what their operands or options name."""

SILENT = names(
    """
    true : echo printf export readonly declare local typeset unset set shopt umask ulimit
    alias sleep pwd clear disown
    """
)
"""They always end with 0, or nobody means their failure."""
QUESTIONS = names(
    """
    [ [[ test which type hash read cat ls rm mkdir touch env date whoami uname hostname id
    cp mv head tail less more tee sort uniq wc sed awk gawk tr cut column nl tac rev fold
    fmt pr logger kill pushd popd chmod ln printenv tput stty getopts shift
    """
)
"""Their status steers a script; that nobody hears it is no loss."""
PASSIVE = names(
    """
    cat head tail less more tee sort uniq wc sed awk gawk tr cut column nl tac rev fold fmt
    pr logger ts pv sponge xmessage
    """
)
"""What only passes text on: at the end of a pipe it hides what came before."""
FEEDERS = (PASSIVE | SILENT).union(
    names("git find fd ls grep egrep fgrep rg jq yq curl wget gofmt goimports seq comm tar env"),
    names("yes date [ test"),
)
"""What gives text to the next part of a pipe."""
TASK_RUNNERS = names(
    """
    go cargo npm npx pnpm yarn bun deno make gmake ninja cmake bazel gradle gradlew mvn mvnw
    dotnet swift mix rake composer coverage pre-commit
    """
)
"""They check or do something else, as their arguments say."""
CHECKERS = names(
    """
    pytest py.test tox nox mypy pyright ruff flake8 pylint black isort bandit unittest
    golangci-lint staticcheck clippy-driver rustfmt jest vitest mocha ava tsc eslint biome
    playwright cypress c8 nyc ctest bats shellcheck rspec rubocop standardrb phpunit paratest
    pest phpstan psalm phpcs php-cs-fixer ktlint detekt clang-tidy cppcheck yamllint hadolint
    actionlint
    """
)
"""Linters and tools that run tests."""
PREPARES = {
    "git": names("checkout clone fetch lfs pull submodule switch"),
    "docker": names("compose login network pull start volume"),
    "npm": names("ci i install"),
    "pnpm": names("i install"),
    "yarn": names("install"),
    "bun": names("install"),
    "pip": names("install"),
    "pip3": names("install"),
    "uv": names("pip sync"),
    "poetry": names("install"),
    "composer": names("i install update"),
    "bundle": names("install"),
    "gem": names("install"),
    "apt-get": names("install update"),
}
"""Verbs that fetch or start what the checks need."""
INSTALLERS = frozenset(PREPARES) - {"git", "docker"}
TELLS = {
    "git": names(
        "branch config describe log ls-files ls-remote remote rev-list rev-parse shortlog show "
        "stash status tag whatchanged"
    ),
    "coverage": names("annotate combine debug erase html json lcov xml"),
    "docker": names("images info logs ps rm stop version"),
    "pip": names("freeze list show"),
    "composer": names("about list show"),
    "gem": names("env list"),
    "go": names("doc env list version"),
    "golangci-lint": names("cache completion config custom formatters help linters version"),
    "ruff": names("clean config linter rule server version"),
    "hatch": names("config dep env project status"),
    "detect-secrets": names("scan"),
    "cypress": names("cache info verify"),
    "playwright": names("show-report"),
    "poetry": names("about config env list search show"),
    "uv": names("cache tree"),
    "npm": names("config help view"),
    "tox": names("config devenv list"),
}
"""Verbs that only tell something, or whose failure nobody means."""

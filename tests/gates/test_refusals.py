"""Gate commands that cannot fail are refused, in every disguise; those that can are not."""

import subprocess
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.gates.cannot_fail import can_fail, refusals

REFUSED = [
    # nothing there
    "", "   ", "# pytest", "true", ":", "exit 0", "exit", "echo ok", "printf done", "/bin/true",
    "'true'", "\\true", "tr''ue", "command true", "env true", "/usr/bin/env X=1 true", "exec true",
    "exit 0; pytest", "exit 0 && pytest", "true || pytest", "false && pytest || true",
    "[ 1 = 1 ]", "test x", "[ 0 -eq 0 ]", "X=1", "export X=1", "set -e", "sleep 1",
    # swallowed by ||
    "pytest || true", "pytest || :", "pytest || exit 0", "pytest || echo failed",
    "pytest || printf x", "pytest||true", "pytest ||\ntrue", "pytest || (true)",
    "pytest || { true; }", "pytest || (echo bad; exit 0)", "pytest || /bin/true",
    "pytest || command true", "pytest || 'true'", "pytest || cat log", "pytest || tail -n 5 log",
    "pytest || sleep 1", "pytest || test -d .", "pytest || [ -f allowed ]", "pytest || X=1",
    "pytest || rc=1", "pytest || rc=$?; echo $rc", "a && b || true", "go vet ./... && (go test ./... || true)",
    "a && (b || true) && c", "(pytest) || true", "{ pytest; } || true", "pytest > log 2>&1 || true",
    "pytest || (exit 0)", "pytest || sh -c true", "pytest || eval true", "T=true; pytest || $T",
    "pytest || false || true", "! pytest || true", "! pytest | grep x || true", "pytest || (pytest || true)",
    # a status that is forgiven
    "pytest || [ $? -eq 5 ]", "pytest || test $? -eq 5", "pytest || [ $? = 5 ]",
    "pytest || [[ $? == 5 ]]", "pytest; [ $? -eq 0 -o 1 ] || exit 0",
    "pytest; rc=$?; [ $rc -eq 5 ] && exit 0; exit $rc",
    "pytest; rc=$?; if [ $rc -eq 5 ]; then rc=0; fi; exit $rc",
    # lost in a sequence
    "pytest; true", "pytest; exit 0", "pytest; echo done", "pytest\ntrue", "pytest\nexit 0\n",
    "pytest;:", "a; b", "a\nb", "cd web; npm test", "{ pytest; true; }", "(pytest; true)",
    "pytest; rm -f log", "set -e; set +e; a; b", "set -e; a && b; c", "set +e; a; b",
    "a && b; c", 'x=$(pytest); echo "$x"', "pytest; rc=$?; echo $rc", "pytest; rc=0; exit $rc",
    "f() { pytest; true; }; f", "f() { true; }; f", "pytest() { :; }; pytest", "f() { pytest; return 0; }; f",
    "(pytest); true", "set -e; pytest || true", "set -e; if pytest; then :; fi",
    # lost in a pipe
    "pytest | tail", "pytest | tee log", "pytest 2>&1 | tee log", "pytest |& tee log",
    "pytest | cat", "pytest | head -1", "pytest | grep passed", "go test ./... | grep -v PASS",
    "pytest | sed s/a/b/", "pytest | tail && echo ok", "set -e; pytest | tail",
    "set -o pipefail; set +o pipefail; pytest | tail", "cd x && pytest | tail -n 20",
    "pytest | xargs echo", "(pytest) | tail", "pytest | tail | cat", "set -o pipefail; pytest | tail || true",
    # lost in the background, in a condition, in a loop
    "pytest &", "pytest & wait", "pytest & echo started", "a && pytest &",
    "if pytest; then :; fi", "if pytest; then echo ok; else echo bad; fi", "while pytest; do :; done", "case b in a) pytest;; esac",
    "until pytest; do :; done", "for f in *.sh; do sh -n $f; done", "for t in a b; do pytest $t; done",
    "for t in a b; do pytest $t || true; done", "for t in a b; do pytest $t || continue; done",
    'while read f; do sh -n "$f"; done < list', "find . -name '*.sh' -exec sh -n {} \\;",
    # traps
    "trap 'exit 0' EXIT; pytest", "trap 'exit 0' 0; pytest", "trap 'exit 0' ERR; pytest",
    'trap "true; exit 0" EXIT; set -e; pytest',
    # only its output
    "echo $(pytest)", 'echo "$(pytest)"', "echo `pytest`", "export X=$(pytest)", "printf %s $(pytest) && ls",
    # shells in shells
    "sh -c 'pytest || true'", "bash -lc 'pytest || true'", "env X=1 sh -c 'pytest || true'",
    "timeout 5 sh -c 'pytest; true'", "sh -c \"sh -c 'pytest || true'\"", "eval 'pytest || true'",
    'eval "pytest; true"', "sh -ec 'pytest || true'", "/bin/bash -c 'exit 0'", "sh <<EOF\npytest || true\nEOF",
    "bash -s <<'EOF'\npytest\ntrue\nEOF", "sh <<< 'pytest || true'", "echo 'pytest || true' | sh",
    "cat <<EOF | sh\npytest || true\nEOF", "sh <<EOF || true\npytest\nEOF", "sudo -u me bash -c 'pytest|tail'",
    "docker compose run app sh -c 'pytest || true'", "xargs -r true", "xargs", "nohup sh -c 'pytest;true'",
    "busybox sh -c 'pytest || true'", "sh -c ''", "bash -c 'set -e; pytest || true'",
    # options that check nothing
    "make -i test", "make -ki test", "make --ignore-errors test", "make -n test", "MAKEFLAGS=-i make test",
    "MAKEFLAGS=i make test", "npm test --if-present", "npm run test --if-present", "jest --passWithNoTests",
    "npx jest --passWithNoTests", "npx --no-install vitest run --passWithNoTests", "npm test -- --passWithNoTests",
    "cargo test --no-run", "go test -run '^$' ./...", "go test -run NONE ./...", "go test -run=^$ ./...",
    "go test -count=0 ./...", "GOFLAGS=-run=^$ go test ./...", "pytest --collect-only", "python -m pytest --co",
    "PYTEST_ADDOPTS=--co pytest", "env PYTEST_ADDOPTS=--co pytest", "ruff check --exit-zero .", "pylint --exit-zero src",
    "golangci-lint run --issues-exit-code 0", "golangci-lint run --issues-exit-code=0", "mvn -fn verify",
    "pytest --help", "mvn -DskipTests test", "poetry run pytest --collect-only", "uv run ruff check --exit-zero",
    # no shell
    "pytest 'tests", 'pytest "', "pytest &&", "pytest ||", "(pytest", "if pytest; then", "$(pytest", "foo )",
    "cd web && true", "cd web; pytest", ". ./env && echo ok",
    "pytest; exit $((RANDOM * 0))",
    # after || only another try, or a sure failure
    "pytest || git status", 'pytest || python -c ""', "pytest || cd .", "pytest || grep -q . README.md",
    "pytest || find .", "pytest || jobs", "pytest || source /dev/null", "pytest || . /dev/null", "pytest || seq 1",
    "pytest || cmp README.md README.md", "pytest || xargs -r false </dev/null", 'pytest || node -e ""',
    "pytest || ./scripts/ok.py", "pytest || make ok", "pytest || ( cd . )", "pytest || git diff --stat",
    "pytest || exec git status", "pytest || ! pytest", "pytest || timeout 5 python -c 0", "make test || make ok",
    "black --check . || black .",
    # upside down, or only printed
    "! pytest -q", "! python -m pytest", "if go test ./...; then exit 1; fi", '[ "$(pytest -q)" ]', 'test -n "$(pytest -q)"',
    'test "$(pytest -q; echo $?)"', "cat <(pytest -q)", '[ "$(pytest -q > /dev/null; echo $?)" -ge 0 ]',
    # a text that nobody knows, another program, another time
    'eval "$(cat script)"', "base64 -d <<< dHJ1ZQ== | sh", 'script -qc "pytest -q" /dev/null', "PATH=/x:$PATH; pytest -q",
    "PATH=/x pytest -q", "hash -p /bin/true pytest; pytest -q", "alias pytest=true; pytest -q", "make test SHELL=/bin/true",
    "coproc pytest -q", "setsid -f pytest -q", "at now <<< pytest", "echo pytest | at now", "docker run -d x pytest",
    # nothing is checked in some case
    'if [ "$CI" = never ]; then pytest -q; fi', "[ -d nosuch ] || exit 0; pytest -q", '[ -n "$CI" ] || pytest',
    "command -v pytest || exit 0; pytest -q",
    # nothing is checked at all
    "git status", "cat README.md", "command -v pytest", "git diff --stat", "git log -1", "ls", "date", "go version",
    "pytest --version", "pytest -h", "ruff --version", "mypy -V", "bin/app --help", "docker compose up -d",
    "ruff check --show-files .", "ruff check --ignore ALL .", "ruff format .", "npx prettier --write .", "npx tsc --init",
    "pylint --fail-under=0 src", "pylint --disable=all src", "go test -skip . ./...", "cargo test -- --list",
    "gradle test -x test", "mvn test -DskipTests", "mvn verify -DskipTests=true", "tox -l", "nox --list", "npx vitest list",
    "cargo fmt", "black .", "isort .",
]  # fmt: skip

HOLLOW = [
    "black --diff .", "isort --diff .", "safety check --continue-on-error", "swift test --list-tests", "bazel query //...",
    "pre-commit run --files /dev/null", "cargo clippy -- --cap-lints allow", "cargo clippy -- -A clippy::all",
    "stylelint --allow-empty-input 'none/*.css'", "deno test --permit-no-files none/", "mix test --exclude test",
    "node --test --test-name-pattern=none", "ansible-lint --offline -w all", "yamllint -d '{rules: {}}' .",
    "markdownlint '**/*.md' --ignore '**/*.md'", "git diff --exit-code HEAD HEAD", "cmp a a", "diff README.md README.md",
    # programs in the command, and options of more tools
    "python -c pass", "python3 -c 'import sys; sys.exit(0)'", "node -e 0", "node -e 'process.exit(0)'", "ruby -e 'puts 1'", "perl -e 0",
    "mocha --dry-run", "go help test", "rubocop -a", "bazel test --nobuild //...", "semgrep --no-error .", "trivy fs .",
    "trivy fs --exit-code 0 .", "gitleaks detect --exit-code 0", "pip-audit --dry-run", "actionlint -version", "just -n test", "just --list",
    "yamllint /dev/null",
    # commands that are read and not run
    "sh -n", "echo pytest | sh -n", "printf 'pytest\\n' | bash -n", "sh -nc pytest", "sh -n -c pytest", "sh -enc 'pytest'",
    "bash -o noexec -c pytest", "bash -n <<EOF\npytest\nEOF", "sh -n <<< pytest", "sh -n /dev/null", "set -n; pytest",
    "set -en; pytest", "set -o noexec; pytest", "sh -nc 'pytest' && mypy .", "env A=1 sh -nc pytest", "timeout 5 sh -n",
    # nothing to look at
    "shellcheck /dev/null", "shellcheck -x /dev/null", "shellcheck -e SC2086 /dev/null", "ruff check /dev/null",
    "mypy /dev/null", "pytest /dev/null", "eslint /dev/null", "shellcheck - < /dev/null", "xargs shellcheck < /dev/null",
    "xargs -r ruff check </dev/null", "python -m mypy /dev/null", "npx --no-install eslint /dev/null",
    # everything is left out
    "ruff check . --exclude '*'", "ruff check --exclude=* .", "ruff check . --extend-exclude '**'", "ruff check --exclude '*.py' .",
    "ruff check --exclude . .", "ruff check --per-file-ignores '*:ALL' .", "mypy --exclude '.*' .", "mypy --exclude=. src",
    "flake8 --exclude '*'", "flake8 --ignore=E,W,F,C .", "flake8 --per-file-ignores '*:E,F,W'", "black --check --exclude '.*' .",
    "isort --check --skip-glob '*' .", "bandit -r . -x .", "eslint --ignore-pattern '**' .", "eslint . --ignore-pattern '**/*'",
    "pytest --ignore-glob '*'", "pytest --ignore=.", "pylint --ignore-patterns '.*' src", "go vet -vettool=/bin/true ./...",
    # whatever is found
    "cppcheck src", "gofmt -l .", "goimports -l .", "go fmt ./...", "golint ./...", "semgrep scan --config auto", "radon cc .",
    "clang-format -n src/a.c", "clang-format --dry-run src/a.c", "prettier .", "npx prettier src", "rustfmt src/main.rs",
    "yapf -r src", "autopep8 -r --diff src", "swiftformat .", "terraform fmt", "mix format", "dart format .", "dotnet format",
    "shfmt -w .", "deno fmt", "mdformat docs", "zig fmt .", "vendor/bin/pint", "checkov -d . --soft-fail", "hadolint --no-fail Dockerfile",
    "codespell --exit-zero", "tsc --noCheck", "gofmt -l . && prettier .", "set -e; gofmt -l .; cppcheck src",
    # what tools do beside checking
    "ruff rule E501", "golangci-lint linters", "go list ./...", "cypress verify", "hatch env show", "detect-secrets scan",
    "playwright test --list", "ansible-playbook --list-tasks x.yml", "lychee --dump .", "npm test -- --listTests",
    "coverage run -m pytest --co", "checkov -d . -s", "tflint --force", "vale --no-exit .", "mypy --ignore-errors src",
    "hadolint --failure-threshold none Dockerfile", "npm audit --audit-level=none", "staticcheck -checks none ./...",
    "yamllint -d '{}' .", "cargo test -- --skip ''", "phpunit --filter '/^$/'", "diff-cover x --fail-under 0", "go vet -h",
    "semgrep --config auto", "find . -name '*.go' -exec gofmt -l {} +", "grep '' README.md", "sh /dev/null",
    # somewhere else, or by what is handed on
    "docker run x true", "docker compose run app true", "ssh host /bin/true", "kubectl exec p -- true",
    "export PYTEST_ADDOPTS=--co; pytest", "set -e; export GOFLAGS=-run=NONE; go test ./...", "MAVEN_ARGS=-DskipTests mvn verify",
]  # fmt: skip
"""Checks that look at nothing, or whose findings nobody hears."""

SOUND = [
    "python -c 'import app; app.check()'", "node -e 'require(\"./check\")()'", "trivy fs --exit-code 1 .", "just test", "go test ./...",
    "sh -n install.sh", "bash -n scripts/*.sh", "sh -n < install.sh", "cat install.sh | sh -n", "sh -n install.sh && shellcheck install.sh",
    "git ls-files '*.sh' | xargs -n1 sh -n", "set -eu; pytest", "set -uo pipefail; pytest", "bash -ec pytest", "head -n 5 x && pytest",
    "shellcheck install.sh", "shellcheck -x install.sh > /dev/null", "pytest < /dev/null", "pytest 2> /dev/null", "pytest -c /dev/null tests",
    "eslint --ignore-path /dev/null .", "pylint --rcfile=/dev/null src", "pylint --rcfile /dev/null src", "mypy --config-file /dev/null src",
    "ruff check --config /dev/null .", "diff -u a /dev/null", "git diff --no-index --exit-code /dev/null a", "xargs shellcheck < list",
    "ruff check . --exclude build", "ruff check . --extend-exclude 'docs/*'", "ruff check --exclude '*.ipynb' .", "mypy --exclude '^build/' .",
    "mypy --exclude 'tests/.*' src", "flake8 --exclude .venv,build", "flake8 --extend-ignore=E203,W503 .", "black --check --exclude '/(build|x)/' .",
    "isort --check --skip venv .", "bandit -r . -x ./tests", "eslint --ignore-pattern 'dist/**' .", "pytest --ignore=tests/slow",
    "pytest --ignore-glob 'tests/*_slow.py'", "pylint --ignore-patterns 'test_.*' src", "ruff check --per-file-ignores '*:E501' .",
    "cppcheck --error-exitcode=1 src", "gofmt -l . && go test ./...", 'test -z "$(gofmt -l .)"', '[ -z "$(goimports -l .)" ]',
    "gofmt -d . && go vet ./...", "go fmt ./... && git diff --exit-code", "prettier --check .", "npx prettier -c .", "npx prettier --list-different src",
    "mix format && git diff --exit-code", "mix format --check-formatted", "mix test",
    "terraform fmt -check -recursive", "terraform validate", "dotnet format --verify-no-changes", "dotnet test", "dart format --set-exit-if-changed .",
    "dart test", "deno fmt --check", "deno test", "rustfmt --check src/main.rs", "clang-format --dry-run --Werror src/a.c", "clang-tidy src/a.c",
    "semgrep scan --error", "semgrep ci", "golint -set_exit_status ./...", "yapf --diff -r src", "autopep8 -r --diff --exit-code src",
    "swiftformat --lint .", "shfmt -d .", "zig fmt --check .", "zig build test", "vendor/bin/pint --test", "checkov -d .", "hadolint Dockerfile",
    "codespell", "tsc --noEmit --skipLibCheck", "eslint --fix .", "ruff check --fix .", "gofmt -l . && golangci-lint run", "cppcheck src && pytest",
    "npm ls", "npm outdated", "docker run x pytest", "ssh host pytest", "find . -name '*.go' -exec gofmt -d {} +", "semgrep --error .",
    "export PYTEST_ADDOPTS=-q; pytest", "(export PYTEST_ADDOPTS=--co); pytest", "MAVEN_OPTS=-Xmx1g mvn verify", "vale .", "checkov -d .",
    "playwright test", "go list ./... | xargs go vet", "grep -q foo README.md", "sh scripts/x.sh /dev/nothing", "ansible-playbook --check x.yml",
]  # fmt: skip
"""Good ones that look like those."""

ACCEPTED = [
    "pytest", "go build ./...", "go vet ./...", "golangci-lint run", "go test ./...",
    "go test -coverprofile=coverage.out ./...", "./scripts/check-migrations.sh", "npm test", "make test",
    "make -k test", "make -C web test", "make -j4 check", "pytest --exitfirst", "pytest -x -q", "cargo test --workspace",
    "cargo clippy --all-targets -- -D warnings", "tsc --noEmit", "npx --no-install eslint .", "ruff check .",
    "go test -run TestUser ./...", "go test -count=1 ./...", "mvn -q verify", "mvn -DskipTests package",
    'test -z "$(gofmt -l .)"', '[ -z "$(git status --porcelain)" ]', "[[ -z $(gofmt -l .) ]]", "test -f LICENSE",
    "! git grep -n FIXME", "! grep -r TODO src", "! grep -rn A src && ! grep -rn B src", "! git ls-files | grep -q x && pytest", "! (( 1 == 2 )) && pytest", "! git ls-files | grep -q '\\.orig$'",
    "a && b", "cd x && make test", "a && b && c", "(cd x && make test)", "{ a && b; }", "pytest || exit 1",
    "pytest || { echo bad; exit 1; }", "pytest || (echo bad; exit 1)", "pytest || exit $?", "pytest || false",
    "pytest || { cat log; exit 1; }", "npm ci || npm install", "pytest || pytest --last-failed",
    "if ! pytest; then exit 1; fi", "if ! pytest; then echo bad; exit 1; fi", "if pytest; then :; else exit 1; fi",
    "if grep -rq FIXME src; then exit 1; fi", "if grep -rq FIXME src; then echo found; exit 1; fi; pytest",
    "grep -rq FIXME src && exit 1; pytest", "set -e; a; b", "set -e\na\nb\n", "set -euo pipefail\na\nb | tail\n",
    "set -o errexit; a; b", "set -e; pytest; echo done", "set -o pipefail; pytest | tee log", "set -euo pipefail; pytest | tail",
    "bash -eo pipefail -c 'a; b | tail'", "bash -o pipefail -c 'pytest | tee log'", "sh -ec 'a; b'", "sh -c pytest",
    "sh -c 'a && b'", "bash -lc 'pytest'", "env X=1 pytest", "X=1 pytest", "timeout 5 pytest", "time pytest", "exec pytest",
    "diff <(a) <(b)", "diff -u expected.txt <(./gen)", "./gen | diff - expected.txt", "git ls-files '*.sh' | xargs shellcheck",
    "find . -name '*.sh' -exec shellcheck {} +", 'for f in *.sh; do sh -n "$f" || exit 1; done',
    'set -e; for f in *.sh; do sh -n "$f"; done', 'while read -r f; do sh -n "$f" || exit 1; done < list',
    "rc=0; a || rc=1; b || rc=1; exit $rc", "rc=0; for f in *.sh; do sh -n $f || rc=1; done; exit $rc",
    "pytest; rc=$?; rm -f log; exit $rc", "pytest; exit $?", "pytest | tee log; exit ${PIPESTATUS[0]}",
    "failed=0; a || failed=$((failed+1)); b || ((failed++)); [ $failed -eq 0 ]", "set +e; pytest; rc=$?; set -e; exit $rc",
    "pytest & wait $!", "trap 'rm -f log' EXIT; pytest", "trap 'rm -rf \"$dir\"' EXIT; set -e; a; b", "echo start; pytest",
    "export CI=1; pytest", "rm -f coverage.out; go test ./...", "mkdir -p out; pytest", "echo start && pytest",
    "ls; pytest", "go version; go test ./...", 'if [ -n "$CI" ]; then pytest; else pytest -x; fi', "[ -f go.mod ] && go test ./...",
    "if command -v ruff; then ruff check .; else exit 1; fi", "case $X in a) pytest;; *) tox;; esac", "case a in a) pytest;; esac",
    "f() { pytest; }; f", "f() { pytest || return 1; }; f && mypy .", "eval pytest", "files=$(git ls-files '*.sh'); shellcheck $files",
    "out=$(pytest) || exit 1", "out=$(pytest)", "pytest && echo ok", "pytest # with a comment", "pytest \\\n  -q",
    "bash -s <<'EOF'\nset -e\npytest\nmypy .\nEOF", "sh <<EOF\npytest\nEOF", "grep -q X f; [ $? -eq 1 ]", "pytest && exit 0; exit 1",
    "pytest -k 'not slow || true'", 'pytest -k "a; true"', "echo 'x || true' > f && pytest", "node --test", "python -m unittest",
    "coverage run -m pytest && coverage report", "git diff --exit-code", "false", "exit 1", "jest", "npm test --silent",
    "ruff check . & a=$!; pytest -q & b=$!; wait $a && wait $b", "server & pid=$!; pytest -q; rc=$?; kill $pid; exit $rc",
    "ruff check . & a=$!; pytest -q & b=$!; wait $a || exit 1; wait $b || exit 1", "python -m http.server & sleep 1; pytest",
    "coverage run -m pytest; rc=$?; coverage xml; exit $rc", "coverage erase; coverage run -m pytest && coverage report",
    "docker compose up -d && pytest -q; rc=$?; docker compose down; exit $rc", "git fetch -q || true; pytest -q",
    "for i in 1 2 3; do pytest -q && exit 0; done; exit 1", "for i in 1 2 3; do pytest -q && break; done",
    "(( $(wc -l < f) < 100 ))", "node --check x.js", "cargo build && cargo test --no-run", "npm ci || npm install && npm test",
    "docker pull x || true; docker run --rm x pytest", "ruff format --check .", "black --check .", "cargo fmt --check",
    "pytest --version && pytest -q", "grep -q a f || grep -q a g", "git diff --exit-code", "script -qec pytest /dev/null",
    "docker compose run app pytest", "test -f a || test -f b", "PYTEST_ADDOPTS=-q pytest", "curl -sf http://localhost/ | jq -e .ok",
]  # fmt: skip


@pytest.mark.parametrize("command", [*REFUSED, *HOLLOW])
def test_a_command_that_cannot_fail_is_refused_with_piece_and_remedy(command: str) -> None:
    found = refusals(command, name="test")
    assert found
    assert all(each.reason and each.remedy for each in found)


@pytest.mark.parametrize("command", [*ACCEPTED, *SOUND])
def test_a_command_that_can_fail_is_accepted(command: str) -> None:
    assert [str(each) for each in refusals(command)] == []


def quoted(command: str) -> str:
    return "'" + command.replace("'", "'\\''") + "'"


WRAPPERS: list[Callable[[str], str]] = [
    lambda inner: f"sh -c {inner}",
    lambda inner: f"bash -lc {inner}",
    lambda inner: f"env A=b timeout -k 5 60 sh -c {inner}",
    lambda inner: f"(sh -c {inner})",
    lambda inner: f"{{ sh -c {inner}; }}",
    lambda inner: f"set -e; sh -c {inner}",
    lambda inner: f"cd . && bash -c {inner}",
]


@given(
    st.sampled_from([*REFUSED, *HOLLOW]),
    st.lists(st.sampled_from(WRAPPERS), min_size=1, max_size=3),
)
def test_wrapping_a_refused_command_keeps_it_refused(
    command: str, wrappers: list[Callable[[str], str]]
) -> None:
    for wrapper in wrappers:
        command = wrapper(quoted(command))
    assert refusals(command, name="test")


@given(st.sampled_from(ACCEPTED), st.sampled_from(["{} || true", "{}; true", "{} &", "({}); :"]))
def test_swallowing_an_accepted_command_makes_it_refused(command: str, swallow: str) -> None:
    inner = f"sh -c {quoted(command)}"
    if "<<" in command or command in {"exit 1", "false"}:
        return
    assert refusals(swallow.format(inner))


@given(st.text(max_size=200))
def test_any_text_gets_an_answer(text: str) -> None:
    assert isinstance(refusals(text), list)


@given(
    st.recursive(
        st.sampled_from(
            [
                "fail",
                "true",
                "exit 0",
                "exit 1",
                "set -e",
                "rc=$?",
                "exit $rc",
                ":",
                "break",
                "return 0",
            ]
        ),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from([" && ", " || ", "; ", "\n", " | "]), inner).map(
                "".join
            ),
            inner.map(lambda text: f"({text})"),
            inner.map(lambda text: f"{{ {text}; }}"),
            inner.map(lambda text: f"if {text}; then exit 1; fi"),
            inner.map(lambda text: f"for x in 1 2; do {text}; done"),
        ),
        max_leaves=6,
    )
)
def test_a_command_that_is_accepted_really_fails_in_bash(command: str) -> None:
    """Whatever we accept, bash ends with another status than 0 for one outcome of its check."""
    if refusals(command):
        return
    ends = set()
    for status in (0, 1):
        script = f"fail() {{ return {status}; }}\n{command}"
        ends.add(
            subprocess.run(["bash", "-c", script], check=False, capture_output=True).returncode
        )
    assert ends != {0}


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("pytest || true", "`|| true` turns the failure of `pytest` into a pass: remove it."),
        ("a; b", "`a; b` goes on when `a` fails: join them with `&&`, or write `set -e` first."),
        (
            "pytest | tail",
            "`| tail` hides the failure of `pytest`: write `set -o pipefail` before it, or leave the pipe out.",
        ),
        ("pytest &", "`pytest &` is not waited for: leave the `&` out."),
        ("make -i test", "`-i` ignores every error: leave it out."),
        (
            "npm ci || npm install; npm test",
            "`npm ci || npm install; npm test` goes on when `npm install` fails: join them with `&&`, or write `set -e` first.",
        ),
        ("! pytest", "`! pytest` passes when the check fails: leave the `!` out."),
        (
            "[ -d x ] || exit 0; pytest",
            "`[ -d x ]` decides whether anything is checked at all: end with `exit 1` where nothing is checked, or check in each case.",
        ),
        (
            "for f in *.sh; do sh -n $f; done",
            "`do sh -n $f; done` loses the failure of `sh -n $f` in all rounds but the last: write `|| exit 1` after it.",
        ),
    ],
)
def test_a_refusal_names_the_piece_and_the_remedy(command: str, told: str) -> None:
    assert [str(each) for each in refusals(command)] == [told]


def test_all_reasons_are_told_at_once() -> None:
    assert len(refusals("a || true; b | tail; make -i x")) == 3


def test_the_environment_of_a_gate_can_hollow_it_out() -> None:
    assert refusals("make test", environment={"MAKEFLAGS": "-i"})
    assert refusals("pytest", environment={"PYTEST_ADDOPTS": "--collect-only"})
    assert refusals("pytest", environment={"LANG": "C"}) == []


FILES = {
    "scripts/bad.sh": "#!/bin/sh\npytest\nexit 0\n",
    "scripts/worse.sh": "#!/bin/bash\npytest || true\necho done\n",
    "scripts/good.sh": "#!/bin/sh\npytest\nmypy .\n",
    "scripts/strict.sh": "#!/bin/sh\nset -e\npytest\nexit 0\n",
    "scripts/strict-shebang.sh": "#!/bin/bash -e\npytest\nexit 0\n",
    "scripts/hears.sh": "#!/bin/sh\npytest || exit 1\nexit 0\n",
    "scripts/check.py": "#!/usr/bin/env python3\nprint()\n",
    "scripts/broken.sh": "#!/bin/sh\nif then fi (\n",
    "Makefile": (
        "PYTEST = pytest\n.PHONY: test soft deep all\n\ntest:\n\t$(PYTEST)\n\n"
        "told:\n\t@git status\n\tpytest --collect-only\n\nsoft:\n\t-pytest\n\t@echo done\n\ndeep: soft\n\t@true\n\nall: test soft\n\nold:\n\tpytest || true\n"
    ),
    "web/Makefile": "include rules.mk\n-include more.mk\ntest:\n\tpytest\n",
    "web/rules.mk": "soft:\n\tpytest ; true\n",
    "web/more.mk": "# nothing yet\n",
    "api/Makefile": "include $(RULES)\nsoft:\n\ttrue\n",
    "package.json": (
        '{"scripts": {"test": "jest || true", "lint": "eslint .", "e2e": "exit 0",'
        ' "unit": "jest --passWithNoTests"}}'
    ),
}


def shipped(path: str) -> bytes | None:
    return FILES[path].encode() if path in FILES else None


@pytest.mark.parametrize(
    "command",
    [
        "./scripts/bad.sh", "sh scripts/bad.sh", "bash ./scripts/worse.sh", "scripts/bad.sh && ./scripts/worse.sh",
        "make soft", "make -C web soft", "make told", "make deep", "make old", "npm test", "npm run e2e", "npm run unit", "yarn test",
    ],
)  # fmt: skip
def test_a_script_that_cannot_fail_is_refused(command: str) -> None:
    assert refusals(command, read=shipped)
    assert refusals(command) == []


@pytest.mark.parametrize(
    "command",
    [
        "./scripts/good.sh", "sh scripts/strict.sh", "./scripts/strict-shebang.sh", "./scripts/hears.sh", "sh -e scripts/bad.sh",
        "./scripts/check.py", "./scripts/broken.sh", "./scripts/missing.sh", "sh -n scripts/bad.sh", "make test", "make -C web test", "make -C api soft",
        "make all", "make unknown", "make -C other soft", "npm run lint", "npm run missing", "./gradlew test",
    ],
)  # fmt: skip
def test_a_script_that_can_fail_or_cannot_be_read_is_accepted(command: str) -> None:
    assert [str(each) for each in refusals(command, read=shipped)] == []


def test_a_makefile_that_ignores_everything_is_refused() -> None:
    found = refusals("make test", read={"Makefile": b".IGNORE:\ntest:\n\tpytest\n"}.get)
    assert "`.IGNORE of the Makefile` ignores every error" in str(found[0])


def test_scripts_are_followed_as_long_as_that_is_quick() -> None:
    assert can_fail("set -e\n" + "pytest\n" * 60)
    assert not can_fail("pytest\n" * 60 + "exit 0\n")
    assert can_fail("pytest\n" * 1000 + "exit 0\n")
    assert refusals("pytest && " * 200 + "pytest")

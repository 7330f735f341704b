"""Shell commands are judged by what they write: both ways, construct by construct."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.shell.guard.effects import effects
from hornbook.shell.guard.syntax import ShellSyntax, read
from tests.kit.hook_calls import ask, decision, events, guarded, payload

DENIED = [
    # redirections
    "echo x > README.md",
    "echo x >README.md",
    "echo x >> README.md",
    "echo x >| README.md",
    "echo x &> README.md",
    "echo x &>> README.md",
    "echo x 2> README.md",
    "echo x 2>>README.md",
    "echo x 1>README.md 2>&1",
    "echo x >& README.md",
    "> README.md",
    "> README.md echo x",
    ": <> README.md",
    "exec 3> README.md",
    "cat <<EOF > README.md\nhello\nEOF",
    "cat > README.md <<'EOF'\nhello\nEOF\n",
    "cat <<-EOF >README.md\n\thello\n\tEOF",
    "{ echo a; echo b; } > README.md",
    "(echo a; echo b) > README.md",
    "if true; then echo x; fi > README.md",
    "while read l; do echo $l; done < src/a.py > README.md",
    # quoting
    "echo x > 'README.md'",
    'echo x > "README.md"',
    "echo x > READ'ME'.md",
    "echo x > README\\.md",
    "echo x > $'README.md'",
    "echo x > $'\\x52EADME.md'",
    'echo x > $"README.md"',
    "echo 'a > b' > README.md",
    # lists and pipes
    "pytest -q; echo x > README.md",
    "pytest -q && echo x > README.md",
    "pytest -q || echo x > README.md",
    "echo x | tee README.md",
    "echo x | tee -a src/a.py README.md",
    "echo x |& tee README.md",
    "sleep 1 & echo x > README.md",
    "pytest -q\necho x > README.md",
    "echo a \\\n > README.md",
    "! echo x > README.md",
    # substitutions
    "echo $(echo x > README.md)",
    'echo "$(echo x > README.md)"',
    "echo `echo x > README.md`",
    'echo "`echo x > README.md`"',
    "cat <(echo x > README.md)",
    "echo x > >(tee README.md)",
    "echo x | tee >(cat > README.md)",
    "echo ${x:-$(rm README.md)}",
    "echo $((1 + $(rm README.md)))",
    "echo $( (rm README.md) )",
    "echo $((rm README.md) )",
    "cat <<EOF\n$(rm README.md)\nEOF",
    "a=$(rm README.md)",
    "a=(x $(rm README.md))",
    "[[ -f x && $(rm README.md) ]]",
    # control flow
    "for f in README.md docs/page.md; do echo x > $f; done",
    'for f in README.md; do echo x > "$f"; done',
    "while true; do rm README.md; done",
    "if rm README.md; then :; fi",
    "case x in x) rm README.md ;; esac",
    "case x in (x) rm README.md ;; esac",
    "f() { rm README.md; }; f",
    "function f { rm README.md; }; f",
    "time rm README.md",
    # variables
    "f=README.md; echo x > $f",
    "f=README.md && echo x > ${f}",
    "d=docs; echo x > $d/page.md",
    "export f=README.md; echo x > $f",
    "echo x > docs/$name.md",
    "f=READ; f+=ME.md; echo x > $f",
    "echo x > $PWD/README.md",
    "echo x > ~/.profile",
    "echo x > $HOME/.profile",
    # folders
    "cd docs && echo x > page.md",
    "cd src && echo x > ../README.md",
    "(cd src && ls); echo x > README.md",
    "cd src | echo x > README.md",
    "cd src; cd ..; rm README.md",
    "pushd docs && touch page.md",
    "cd / && echo x > etc/passwd",
    # programs
    "rm README.md",
    "rm -rf docs",
    "rm -rf .",
    "rm -rf src",
    "rm -rf src/core",
    "rm *.md",
    "rm -- README.md",
    "rm {README,x}.md",
    "unlink README.md",
    "touch README.md",
    "mkdir -p docs/new",
    "truncate -s 0 README.md",
    "cp src/a.py README.md",
    "cp src/a.py docs",
    "cp src/a.py docs/",
    "cp -t docs src/a.py",
    "cp src/a.py src/pkg/b.py docs",
    "mv README.md src/a.md",
    "mv src/a.py docs/",
    "mv src/core src/core2",
    "ln -s ../README.md src/readme.md",
    "ln -sf /etc/passwd src/x",
    "install -m 644 src/a.py docs/a.py",
    "install -d docs/new",
    "rsync -a src/ docs/",
    "dd if=/dev/zero of=README.md",
    "sed -i s/a/b/ README.md",
    "sed -i.bak s/a/b/ README.md",
    "sed -i '' s/a/b/ README.md",
    "sed -Ei 's/a/b/' README.md",
    "sed --in-place -e s/a/b/ src/a.py README.md",
    "perl -pi -e s/a/b/ README.md",
    "gawk -i inplace '{print}' README.md",
    "awk '{print > \"README.md\"}' src/a.py",
    "sort -o README.md README.md",
    "chmod +x README.md",
    "chown -R me docs",
    "gzip README.md",
    "patch README.md < x.patch",
    "patch -o README.md src/a.py x.patch",
    "tar -xf x.tar",
    "tar xzf x.tgz -C docs",
    "tar czf docs/x.tgz src",
    "unzip x.zip",
    "unzip x.zip -d docs",
    "curl -o README.md https://example.org",
    "curl -sSLo README.md https://example.org",
    "curl -O https://example.org/README.md",
    "wget -O README.md https://example.org",
    "wget https://example.org/x.html",
    "ed README.md",
    # git
    "git checkout README.md",
    "git checkout -- README.md",
    "git checkout HEAD~1 -- README.md",
    "git checkout .",
    "git restore README.md",
    "git -C docs restore page.md",
    "git rm README.md",
    "git mv src/a.py docs/a.py",
    "git clone https://example.org/x.git docs/x",
    "git worktree add ../other",
    # wrappers
    "sudo rm README.md",
    "sudo -u me rm README.md",
    "env A=b rm README.md",
    "env -C docs touch page.md",
    "nohup rm README.md",
    "nice -n 5 rm README.md",
    "timeout 5 rm README.md",
    "timeout -k 1 5s rm README.md",
    "command rm README.md",
    "/bin/rm README.md",
    "A=b rm README.md",
    "echo README.md | xargs rm docs/page.md",
    "xargs -I{} cp {} docs/ < list",
    "find docs -name '*.md' -delete",
    "find . -name '*.md' -exec rm {} \\;",
    "find docs -type f -exec sed -i s/a/b/ {} +",
    "find . -fprint README.md",
    "sh -c 'rm README.md'",
    'bash -c "echo x > README.md"',
    "bash -lc 'cd docs && touch page.md'",
    "bash <<'EOF'\nrm README.md\nEOF",
    "bash <<< 'rm README.md'",
    "eval 'rm README.md'",
    'eval "rm" README.md',
    "trap 'rm README.md' EXIT",
    "sh -c \"sh -c 'rm README.md'\"",
    # inline code that names what it writes
    "python3 -c \"open('README.md','w')\"",
    "python -c \"from pathlib import Path; Path('README.md').write_text('')\"",
    "python3 - <<'EOF'\nopen('README.md', 'a').write('x')\nEOF",
    "node -e \"fs.writeFileSync('README.md', '')\"",
    # our own folder, and what guards it
    "echo x > .hornbook/config.yaml",
    "rm -rf .hornbook",
    "cd .hornbook && rm ACTIVE_PLAN",
    "mv .hornbook old",
    "echo other > .hornbook/ACTIVE_PLAN",
    "tee .HORNBOOK/config.yaml",
    "echo x > $dir/.hornbook/config.yaml",
    "cd $dir && rm .hornbook/ACTIVE_PLAN",
    "echo x > .semspec/sources/docs/sops/a.md",
    "python3 -c \"import shutil; shutil.rmtree('.hornbook')\"",
    "echo '{}' > .claude/settings.json",
    "echo x > .git/config",
    # our own commands
    "hornbook plan Wider",
    "hornbook promote",
    "hornbook plans use other",
    "hornbook answer r1 --text yes",
    "hornbook explore x",
    "hornbook decide --decision a --reason b --impact c",
    "hornbook --root . plan Wider",
    "python -m hornbook plan Wider",
    "python -m hornbook --root . plan Wider",
    "uv run hornbook promote",
    "uv run python -m hornbook promote",
    "./.venv/bin/hornbook promote",
    "cd src && hornbook plans use other",
    "hornbook hook post-tool-use < x",
    "hornbook query --text 'mutation { createPlan }'",
    # other parts of the scope
    "echo x > src/core/kernel.py",
    "echo x > src/generated/x.py",
    "echo x > src/../README.md",
    "echo x > ./README.md",
    "echo x > /etc/passwd",
    "echo x > ../sibling.txt",
    # what cannot be read
    "echo 'x",
    'echo "x',
    "echo $(x",
    "echo `x",
    "(echo x",
]

SILENT = [
    "pytest -q",
    "pytest -q 2>&1 | tail -5",
    "echo x >&2",
    "echo x 1>&2",
    "make 2>/dev/null",
    "make > /dev/null 2>&1",
    "make &> /dev/null",
    "echo x > /dev/stderr",
    "exec 3>&-",
    "echo x > src/a.py",
    "echo x > tests/new.py",
    "echo x > 'src/with space.py'",
    "echo x > src/n\u0303.py",
    "echo 'x > README.md'",
    'echo "x > README.md"',
    "echo x \\> README.md",
    "echo x # > README.md",
    "# rm README.md",
    "ls # it's fine",
    "grep -rn 'a > b' src",
    "[[ a > README.md ]]",
    "[[ $a < $b && -f README.md ]] && ls",
    "(( a > 3 ))",
    "echo $((a > 3))",
    "if [ -f README.md ]; then cat README.md; fi",
    "cat README.md",
    "cat README.md > src/copy.md",
    "cat < README.md",
    "cat <<EOF\n> README.md\nrm README.md\nEOF",
    "cat <<'EOF'\n$(rm README.md)\nEOF",
    "cat <<EOF > src/a.py\nrm README.md\nEOF",
    "cat <<A <<B\nrm README.md\nA\nrm docs\nB\nls",
    "diff <(sort README.md) <(sort docs/page.md)",
    "echo $(cat README.md)",
    "echo `cat README.md`",
    "for f in *.md; do cat $f; done",
    "for f in src/a.py src/pkg/b.py; do echo x > $f; done",
    "case README.md in *.md) echo yes ;; esac",
    "f=src/a.py; echo x > $f",
    "cd src && echo x > a.py",
    "cd docs && cat page.md",
    "cd docs && echo x > ../src/a.py",
    "(cd docs && ls) && echo x > src/a.py",
    "echo x | tee src/a.py",
    "echo x | tee /dev/stderr",
    "rm src/a.py",
    "rm -rf src/pkg",
    "rm -f src/*.py",
    "rm src/{a,b}.py",
    "mkdir -p src/new/deep",
    "mkdir -p docs",
    "cp README.md src/",
    "cp README.md src/readme.md",
    "cp docs/page.md README.md tests/",
    "mv src/a.py src/c.py",
    "ln -s a.py src/link.py",
    "rsync -a docs/ src/docs/",
    "rsync -a docs/ host:docs/",
    "rsync -an src/ docs/",
    "scp README.md host:",
    "dd if=README.md of=src/x",
    "dd if=README.md | wc -c",
    "sed s/a/b/ README.md",
    "sed -n '1,5p' README.md",
    "sed -i s/a/b/ src/a.py",
    "sed -i -e s/a/b/ src/a.py",
    "perl -ne print README.md",
    "perl -pi -e s/a/b/ src/a.py",
    "awk '{print $1}' README.md",
    "awk '$1 > 3' README.md",
    "sort README.md",
    "sort -o src/x README.md",
    "chmod +x src/a.py",
    "tar -tf x.tar",
    "tar -xf x.tar -C src",
    "tar -xOf x.tar",
    "tar cf - src | wc -c",
    "unzip -l x.zip",
    "unzip x.zip -d src",
    "curl https://example.org",
    "curl -o src/x https://example.org",
    "curl -o - https://example.org",
    "curl -o /dev/null https://example.org",
    "wget -O- https://example.org",
    "wget -qO - https://example.org",
    "git status",
    "git diff > src/x.diff",
    "git diff HEAD -- README.md",
    "git checkout main",
    "git checkout -b topic",
    "git checkout -- src/a.py",
    "git restore src/a.py",
    "git restore --staged README.md",
    "git rm --cached README.md",
    "git add -A && git commit -m 'x > README.md'",
    "git log --format='%h > %s'",
    "git clean -nd",
    "sudo rm src/a.py",
    "env A=b pytest",
    "timeout 5 pytest -q",
    "command -v rm",
    "type rm",
    "echo rm README.md",
    "printf 'rm README.md'",
    "find . -name '*.md'",
    "find . -name '*.pyc' -delete",
    "find src/pkg -type f -exec chmod 644 {} +",
    "find . -name '*.md' -exec cat {} \\;",
    "echo README.md | xargs cat",
    "sh -c 'cat README.md'",
    "bash -c 'echo x > src/a.py'",
    "bash script.sh",
    "python -c \"print(open('README.md').read())\"",
    "python -c \"open('src/a.py','w')\"",
    "python -m pytest -q",
    "python script.py README.md",
    "python - <<'EOF'\nprint(1)\nEOF",
    "cat .hornbook/config.yaml",
    "ls -la .hornbook > src/x",
    "grep -r x .hornbook .semspec",
    "hornbook why src/a.py",
    "hornbook gates run",
    "hornbook plans --json",
    "hornbook plans show guarded",
    "hornbook ingest",
    "echo hornbook plan x",
    "uv run pytest",
    "echo x > $target",
    "rm $target",
    'rm "$(pick)"',
    "npm run build",
    "ssh host 'rm README.md'",
    "a=1",
    "",
    ":",
    "echo a;;",
    "echo 'it'\\''s' > src/a.py",
    'echo "a \\" > README.md" > src/a.py',
    "echo a#b > src/a.py",
    "echo {a,b}.md",
    "true && { false || true; }",
    "x=$(date) ; echo $x",
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return guarded(tmp_path_factory.mktemp("guarded"))


def judged(root: Path, command: str, role: str = "developer") -> str:
    return decision(
        ask(root, "pre-tool-use", payload(root, "Bash", command=command), HORNBOOK_ROLE=role)
    )


@pytest.mark.parametrize("command", DENIED)
def test_a_command_that_writes_out_of_scope_is_denied_and_logged(root: Path, command: str) -> None:
    before = len(events(root))
    assert judged(root, command) == "deny"
    assert len(events(root)) == before + 1


@pytest.mark.parametrize("command", [each for each in SILENT if each])
def test_a_command_that_writes_nothing_out_of_scope_is_left_to_the_host(
    root: Path, command: str
) -> None:
    before = len(events(root))
    assert judged(root, command) == "silent"
    assert len(events(root)) == before


READING = [
    "cat README.md",
    "pytest -q 2>&1 | tail -5",
    "git diff HEAD~1",
    "git log --oneline",
    "git branch --show-current",
    "grep -rn x src > /dev/null",
    "find . -name '*.md'",
    "awk '{print $1}' README.md",
    "hornbook why src/a.py",
]
CHANGING = [
    "echo x > src/a.py",
    "rm src/a.py",
    "rm $target",
    "git commit -am x",
    "git push",
    "git stash",
    "git reset --hard",
    "git branch -D x",
    "python -c 'print(1)'",
    "echo ls | bash",
    "$EDITOR src/a.py",
    "git apply x.patch",
    "hornbook plan x",
]


@pytest.mark.parametrize("role", ["reviewer", "planner"])
@pytest.mark.parametrize("command", READING)
def test_a_role_that_is_read_only_may_read(root: Path, role: str, command: str) -> None:
    assert judged(root, command, role) == "silent"


@pytest.mark.parametrize("command", CHANGING)
def test_a_reviewer_changes_nothing_not_even_in_scope(root: Path, command: str) -> None:
    assert judged(root, command, "reviewer") == "deny"


def test_a_planner_records_plans_and_a_person_promotes_them(root: Path) -> None:
    assert judged(root, "hornbook plan Next", "planner") == "silent"
    assert judged(root, "hornbook decide --decision a --reason b --impact c", "planner") == "silent"
    assert judged(root, "hornbook promote", "planner") == "deny"


def test_a_link_made_earlier_does_not_lead_out_of_scope(root: Path) -> None:
    (root / "src" / "way-out").symlink_to(root / "docs")
    (root / "src" / "readme").symlink_to(root / "README.md")
    assert judged(root, "echo x > src/way-out/page.md") == "deny"
    assert judged(root, "echo x > src/readme") == "deny"
    assert judged(root, "rm src/way-out/page.md") == "deny"


@given(st.text(alphabet="ab $(){}[]<>|&;\"'`\\\n#=*~/.-!x1", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = effects(text, "/somewhere", "/home")
    except ShellSyntax:
        return
    assert all(effect.kind for effect in found)


@given(st.text(max_size=40).filter(lambda text: "\0" not in text and text))
def test_a_quoted_word_says_itself(text: str) -> None:
    quoted = "'" + text.replace("'", "'\\''") + "'"
    (effect,) = effects(f"echo x > {quoted}", "/somewhere", "/home")
    assert (effect.kind, effect.text, effect.wild) == ("write", text, False)


def test_deep_nesting_is_refused_rather_than_followed() -> None:
    with pytest.raises(ShellSyntax):
        read("$(" * 100 + "x" + ")" * 100)

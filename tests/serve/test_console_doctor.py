"""The console's pages of the doctor and of replays: what is wrong, and what rules did to changes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from starlette.testclient import TestClient

from hornbook import Workspace
from hornbook.doctor.finding import CODES, cost_of
from hornbook.serve.kept_health import KeptHealth
from tests.kit.console_pages import page_of, send, sign_in
from tests.kit.git import commit, git
from tests.kit.servers import client, workspace
from tests.kit.workspaces import SOPS, write

DEAD = '---\ncategory: sop\napplies_to: "gone/**"\n---\n\n# Dead <b>\n\nIt MUST be.\n'
BROKEN = '---\ncategory: sop\napplies_to: "a["\n---\n\n# Broken\n\nIt MUST be.\n'
BASELINE = ".hornbook/doctor.yaml"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("doctor")
    git(root, "init", "-q", "-b", "main")
    write(root, {f"{SOPS}/dead.md": DEAD, f"{SOPS}/broken.md": BROKEN, "a.go": "package a\n"})
    workspace(root)
    commit(root, {})
    commit(root, {"a.go": "package a\n\nfunc A() {}\n"})
    return root


@pytest.fixture(scope="module")
def browser(root: Path) -> Iterator[TestClient]:
    with client(root, named=False) as found:
        yield found


def test_findings_stand_under_what_they_cost_with_line_and_remedy(browser: TestClient) -> None:
    page = page_of(browser, "/doctor")
    assert page.text.index("F A rule is not in force") < page.text.index("A rule is hardly")
    assert f"{SOPS}/broken.md:3" in page.text
    assert f"{SOPS}/dead.md:3" in page.text
    assert "There is no CODEOWNERS file." in page.text
    assert "/rules/source.doc.sops.dead" in page.links()


def test_every_kind_of_finding_has_a_cost() -> None:
    assert {cost_of(code) for code in CODES} == set("ABCDF")


def test_a_reader_sees_findings_and_no_form_to_accept_them(browser: TestClient) -> None:
    page = page_of(browser, "/doctor")
    assert "/doctor/accept" not in page.answer.text
    assert send(browser, "/doctor/accept", {"code": "dead_scope"}).status_code in {401, 403}


def test_a_person_accepts_a_finding_and_sees_what_was_written(root: Path) -> None:
    with client(root, named=False) as browser:
        sign_in(browser, root)
        page = page_of(browser, "/doctor")
        place = next(n for n, (_, e) in enumerate(page.elements) if e.get("value") == "dead_scope")
        page.elements = page.elements[place - 2 :]
        fields = {**page.fields("/doctor/accept"), "reason": "it <i>comes</i> back"}
        assert fields["path"] == f"{SOPS}/dead.md"
        done = send(browser, "/doctor/accept", fields)
        assert done.status_code == 303, done.text
        after = page_of(browser, done.headers["location"])
        (entry,) = yaml.safe_load((root / BASELINE).read_text())
        assert entry["reason"] == "it <i>comes</i> back (human:ann)"
        assert str(entry["accept_until"]) == fields["until"]
        assert "Accepted for a time 1" in after.text
        assert f"{BASELINE} differs from what is committed" in after.text
        assert '+- code: "dead_scope"' in after.text
        again = send(browser, "/doctor/accept", fields)
        assert again.status_code == 409
        assert "Nothing was written" in again.text
        assert fields["baseline"] in again.text
        assert len(yaml.safe_load((root / BASELINE).read_text())) == 1


# Replays


def test_past_changes_stand_with_what_the_rules_made_of_them(
    browser: TestClient, root: Path
) -> None:
    head = git(root, "rev-parse", "HEAD")
    page = page_of(browser, "/replay?last=5")
    assert f"/changes/{git(root, 'rev-parse', 'HEAD~1')}..{head}" in page.links()
    assert "complete 1 rule" in page.text
    assert "before it there are no rules" in page.text
    assert "Rules that bound none of them" in page.text
    assert "/rules/source.doc.sops.dead" in page.links()


def test_a_draft_is_judged_beside_the_rules_as_they_are(browser: TestClient, root: Path) -> None:
    rule = root / SOPS / "dead.md"
    before = rule.read_text()
    rule.write_text(before.replace("gone/**", "*.go"))
    try:
        page = page_of(browser, "/replay?last=1&draft=1&only=changed")
    finally:
        rule.write_text(before)
    assert "otherwise" in page.text
    assert "+ Dead" in page.text
    assert "complete 2 rules" in page.text


def test_a_range_that_names_nothing_is_refused_and_the_form_stays(browser: TestClient) -> None:
    for last in (0, 201):
        page = page_of(browser, f"/replay?last={last}", status=422)
        assert "this page takes 1 to 200" in page.text
    page = page_of(browser, "/replay?range=nowhere..main", status=422)
    assert "nowhere" in page.text
    assert page.fields("/replay")["range"] == "nowhere..main"


def test_an_examination_is_kept_until_something_is_another(root: Path) -> None:
    page, kept = root / "notes.txt", KeptHealth()
    for path in root.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    with Workspace.open(root) as work:
        files = [path.relative_to(root).as_posix() for path in root.rglob("*.md")]
        first = kept.of(work, files)
        assert kept.of(work, files) is first
        assert kept.of(work, [*files, page.name]) is first, "what is not there says nothing"
        write(root, {page.name: "A note.\n"})
        second = kept.of(work, [*files, page.name])
        assert second is not first
        assert kept.of(work, [*files, page.name]) is not second, "it was written just before"
        page.unlink()

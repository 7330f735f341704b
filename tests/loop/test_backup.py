"""One archive, taken while others work, from which another folder answers the same."""

import gzip
import io
import json
import os
import sqlite3
import tarfile
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.errors import UsageError
from hornbook.loop.backup import backup, restore
from tests.kit.engines import DATABASES, database_for
from tests.kit.forks import ForkedProcess
from tests.kit.git import git, start
from tests.kit.tax_plan import CONFIG, RULE, hornbook, with_the_tax_plan
from tests.kit.waiting import SAFETY


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    return with_the_tax_plan(tmp_path / "here")


def made(root: Path, target: Path) -> Path:
    with Workspace.open(root) as work:
        backup(work.places, work.settings, target)
    return target


def told(root: Path, *arguments: str) -> object:
    answer = hornbook(root, *arguments)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_what_is_restored_elsewhere_answers_the_same(root: Path, tmp_path: Path) -> None:
    assert hornbook(root, "execute", "add-tax", "--agent", "scripted").returncode == 0
    (root / "AGENTS.md").write_text("# Never committed\n\nAlways greet.\n")
    hornbook(root, "ingest")
    archive = tmp_path / "all.tgz"
    answer = json.loads(told(root, "backup", str(archive), "--json"))  # type: ignore[arg-type]  # text
    assert answer["files"] > 80
    assert archive.stat().st_mode & 0o777 == 0o600
    there = tmp_path / "elsewhere" / "restored"
    done = json.loads(told(root, "restore", str(archive), "--into", str(there), "--json"))  # type: ignore[arg-type]  # text
    assert (done["ok"], done["problems"]) == (True, [])
    assert (there / "AGENTS.md").read_text().endswith("Always greet.\n")
    assert git(there, "log", "--format=%s", "hornbook/add-tax").startswith("Use it in price")
    for asked in (["export"], ["plans", "--json"], ["runs", "--json"], ["verify"]):
        assert told(there, *asked) == told(root, *asked)


def test_backups_are_whole_while_five_ingest_and_a_plan_runs(root: Path, tmp_path: Path) -> None:
    going = [
        ForkedProcess(["--root", str(root), *asked], folder=root, environment=os.environ)
        for asked in (["execute", "add-tax", "--agent", "scripted"], *[["ingest", "--rebuild"]] * 5)
    ]
    archives: list[Path] = []
    while going[0].poll() is None and len(archives) < 2:
        rule = root / ".hornbook/sources/docs/sops/naming.md"
        rule.write_text(f"{RULE}\nAnd MUST be short, {len(archives)}.\n")
        archives.append(made(root, tmp_path / f"{len(archives)}.tgz"))
    for each in going:
        _, said = each.communicate(timeout=SAFETY)
        assert each.returncode == 0, said
    archives.append(made(root, tmp_path / "last.tgz"))
    for number, archive in enumerate(archives):
        there = tmp_path / f"restored-{number}"
        assert restore(archive, there).verification.problems == ()
        with Workspace.open(there) as work:
            _ingest_and_rebuild(work)
    assert told(there, "runs", "--json") == told(root, "runs", "--json")


def _ingest_and_rebuild(work: Workspace) -> None:
    """Read what changed since, and build the same anew from files and history."""
    work.ingest()
    before = work.export()
    work.ingest(rebuild=True)
    assert work.export() == before


def test_an_archive_that_is_not_whole_makes_nothing(root: Path, tmp_path: Path) -> None:
    archive = made(root, tmp_path / "all.tgz")
    with pytest.raises(UsageError, match="is there already"):
        made(root, archive)
    data = gzip.decompress(archive.read_bytes())
    place = data.index(b"# Naming")
    for name, spoiled in {
        "cut": archive.read_bytes()[:-100],
        "flipped": gzip.compress(data[:place] + b"#_Naming" + data[place + 8 :]),
        "none": b"no archive",
    }.items():
        (tmp_path / name).write_bytes(spoiled)
        with pytest.raises(UsageError, match="damaged"):
            restore(tmp_path / name, tmp_path / "into" / name)
    with pytest.raises(UsageError, match="not empty"):
        restore(archive, root)


def test_an_archive_writes_nowhere_but_into_its_folder(tmp_path: Path) -> None:
    archive = tmp_path / "evil.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        entry = tarfile.TarInfo("../../outside")
        entry.size = 4
        tar.addfile(entry, io.BytesIO(b"evil"))
    with pytest.raises(UsageError, match="damaged"):
        restore(archive, tmp_path / "a" / "b" / "into")
    assert not list(tmp_path.rglob("outside"))


@pytest.mark.parametrize("kind", DATABASES[1:])
def test_a_shared_database_is_in_the_archive_without_its_tools(kind: str, tmp_path: Path) -> None:
    with database_for(kind) as url:
        shared = f"repository: ours\nengine: {{database: '{url}'}}\n"
        (tmp_path / "here").mkdir()
        root = with_the_tax_plan(tmp_path / "here", **{".hornbook/config.yaml": CONFIG + shared})
        (root / ".hornbook/plans/add-tax/events.jsonl").unlink()
        archive = made(root, tmp_path / "all.tgz")
        with tarfile.open(archive) as tar:
            rows = tar.extractfile("database/hornbook_events.jsonl")
            assert rows is not None
            kinds = [json.loads(line)["kind"] for line in rows]
        assert kinds == ["plan.explored", "plan.promoted", "tasks.generated"]
        done = restore(archive, tmp_path / "restored")
        assert done.verification.problems == ()


def bare(tmp_path: Path, files: dict[str, str]) -> Path:
    (tmp_path / "here").mkdir()
    start(tmp_path / "here", files)
    return tmp_path / "here"


def entries(archive: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(archive) as tar:
        return {each.name: each for each in tar}


def test_no_secret_of_the_service_is_in_an_archive(tmp_path: Path) -> None:
    config = "serve: {tokens: .hornbook/keys/bearers}\n"
    root = bare(tmp_path, {".hornbook/config.yaml": config})
    state = root / ".hornbook"
    (state / "keys").mkdir()
    kept = ("keys/readme", "secretary")
    secret = ("secret", "secret.7-ab", "tokens", "tokens.used", "keys/bearers", "keys/bearers.used")
    for name in (*secret, *kept):
        (state / name).write_text("it is hidden\n")
    found = entries(made(root, tmp_path / "all.tgz"))
    assert {f"state/{name}" for name in kept} <= set(found)
    assert not {f"state/{name}" for name in secret} & set(found)


def test_a_name_is_left_out_only_where_it_means_something(tmp_path: Path) -> None:
    kept = ("plans/incoming/notes.md", "sources/holders/a.md", "sources/map.db", "sources/a.draft")
    passing = (
        "objects/incoming/ab",
        "logs/holders/a.json",
        "events.db-lock",
        "sources/.a.md.17-4.draft",
    )
    files = {f".hornbook/{name}": "it\n" for name in (*kept, *passing)}
    root = bare(tmp_path, files)
    found = entries(made(root, tmp_path / "all.tgz"))
    assert {f"state/{name}" for name in kept} <= set(found)
    assert not {f"state/{name}" for name in passing} & set(found)


def test_links_are_restored_as_links_unless_they_lead_outside(tmp_path: Path) -> None:
    root = bare(
        tmp_path, {".hornbook/sources/docs/sops/a.md": RULE, "shop/price.py": "PRICE = 1\n"}
    )
    sources = root / ".hornbook" / "sources"
    inside = {"b.md": "docs/sops/a.md", "shop": "../../shop", "gone": "nowhere"}
    chain = {"up": "../..", "out": "up/..", "away": str(tmp_path)}
    for name, target in {**inside, **chain}.items():
        (sources / name).symlink_to(target)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "links")
    done = restore(made(root, tmp_path / "all.tgz"), tmp_path / "restored")
    there = tmp_path / "restored" / ".hornbook" / "sources"
    links = {each.name: str(each.readlink()) for each in there.iterdir() if each.is_symlink()}
    assert links == {**inside, "up": "../.."}
    told = {each.path for each in done.verification.problems if each.code == "link_leads_outside"}
    assert told == {".hornbook/sources/out", ".hornbook/sources/away"}
    assert (there / "shop" / "price.py").read_text() == "PRICE = 1\n"


def crafted(archive: Path, files: dict[str, bytes], links: dict[str, str]) -> Path:
    """An archive whose hashes are right, whatever is in it."""
    hashes = {name: sha256(data).hexdigest() for name, data in files.items()}
    facts = {"format": 1, "at": "now", "files": hashes, "links": links}
    with tarfile.open(archive, "w:gz") as tar:
        for name, data in {**files, "manifest.json": json.dumps(facts).encode()}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return archive


EVIL = "../../../evil"


def table_with(plan: str, file: Path) -> bytes:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE hornbook_events (plan TEXT)")
        connection.execute("INSERT INTO hornbook_events VALUES (?)", (plan,))
    return file.read_bytes()


@pytest.mark.parametrize("where", ["rows", "table", "link", "form"])
def test_an_archive_is_checked_before_anything_is_made(tmp_path: Path, where: str) -> None:
    row = json.dumps({"plan": EVIL, "seq": 1, "line": "{}\n"}).encode()
    files = {
        "rows": {"database/hornbook_events.jsonl": row},
        "table": {"state/events.db": table_with(EVIL, tmp_path / "events.db")},
        "form": {"database/hornbook_events.jsonl": b"[1]\n"},
    }
    links = {EVIL: "x", "/evil": "x"} if where == "link" else {}
    archive = crafted(tmp_path / "evil.tgz", files.get(where, {}), links)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="damaged"):
        restore(archive, tmp_path / "a" / "b" / "into")
    assert sorted(tmp_path.rglob("*")) == before


def test_an_export_that_was_copied_before_its_table_is_brought_level(
    root: Path, tmp_path: Path
) -> None:
    with tarfile.open(made(root, tmp_path / "all.tgz")) as tar:
        read = {each.name: tar.extractfile(each) for each in tar if each.name != "manifest.json"}
        files = {name: file.read() for name, file in read.items() if file is not None}
    name = "plans/add-tax/events.jsonl"
    whole = files[f"state/{name}"]
    files[f"state/{name}"] = b"".join(whole.splitlines(keepends=True)[:-1])
    done = restore(crafted(tmp_path / "behind.tgz", files, {}), tmp_path / "restored")
    assert done.verification.problems == ()
    assert (tmp_path / "restored" / ".hornbook" / name).read_bytes() == whole

"""The canonical export of a repository made from real rule files; only its hash is committed."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from tests.frozen.kept import hold
from tests.frozen.stories import git, tell

CORPUS = Path(os.environ.get("HORNBOOK_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus")
pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here"),
]


def test_the_export_of_the_corpus_has_the_stored_hash(tmp_path: Path) -> None:
    story = tell(tmp_path, "corpus")
    shutil.copytree(CORPUS, story.root, dirs_exist_ok=True)
    git(story.root, "init", "-q", "-b", "main")
    # Named, since most of these files do not lie where their tools look for them.
    assert story.play("ingest", str(story.root)).code == 0
    exported = story.play("export")
    assert exported.code == 0
    found = {
        "files": _digest_of(CORPUS),
        "lines": len(exported.out.splitlines()),
        "sha256": hashlib.sha256(exported.out.encode()).hexdigest(),
    }
    hold("corpus", {"export": found})


def _digest_of(folder: Path) -> str:
    """Tells a corpus that changed from an export that changed."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()

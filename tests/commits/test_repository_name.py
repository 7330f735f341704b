"""The name of a repository: one for all its clones, another for every other repository."""

from pathlib import Path

import pytest

from hornbook.commits.repository_name import first_commit, name_of_remote, repository_name
from hornbook.errors import UsageError
from hornbook.settings.load import parse_settings
from tests.kit.commands import expect
from tests.kit.git import commit, git, start

SAME = [
    "git@github.com:Acme/shop.git",
    "ssh://git@github.com/Acme/shop.git",
    "ssh://git@github.com:2222/Acme/shop",
    "https://github.com/Acme/shop.git",
    "https://me:token@GitHub.com/Acme/shop/",
    "http://github.com:8080/Acme/shop.git/",
    "git://github.com/Acme/shop",
    "github.com:/Acme/shop.git",
]


@pytest.mark.parametrize("url", SAME)
def test_every_way_to_a_remote_gives_one_name(url: str) -> None:
    assert name_of_remote(url) == "github-com-acme-shop-87d00a"


def test_names_that_look_alike_when_written_small_differ() -> None:
    urls = ["https://h/a-b", "https://h/a/b", "https://h/A-b", "https://i/a-b", "/h/a-b", "h/a-b"]
    names = {name_of_remote(url) for url in urls}
    assert len(names) == len(urls) - 1  # the last two are one folder


def test_without_a_remote_the_first_commit_names_it(tmp_path: Path) -> None:
    start(tmp_path, {"a.txt": "1\n"})
    first = git(tmp_path, "rev-parse", "HEAD")
    commit(tmp_path, {"a.txt": "2\n"})
    assert first_commit(tmp_path) == first
    assert repository_name(tmp_path).startswith(f"{first}-")
    git(tmp_path, "remote", "add", "origin", SAME[0])
    assert repository_name(tmp_path) == name_of_remote(SAME[0])
    assert repository_name(tmp_path, "stated") == "stated"


def test_a_repository_without_anything_to_name_it_says_what_to_do(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(UsageError, match="repository: NAME"):
        repository_name(tmp_path)


def test_init_writes_the_name_down_and_it_stays(tmp_path: Path) -> None:
    start(tmp_path, {"a.txt": "1\n"})
    git(tmp_path, "remote", "add", "origin", SAME[0])
    expect(tmp_path, "init")
    config = tmp_path / ".hornbook" / "config.yaml"
    assert "repository: github-com-acme-shop-87d00a\n" in config.read_text()
    git(tmp_path, "remote", "set-url", "origin", "https://elsewhere.example/shop")
    expect(tmp_path, "init")
    stated = parse_settings(config.read_bytes()).repository
    assert repository_name(tmp_path, stated) == "github-com-acme-shop-87d00a"

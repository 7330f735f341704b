"""What programs print of secrets is masked before it is written, in every form, over any border."""

import base64
import json
from pathlib import Path
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from hornbook.process.secret_mask import MASK, SecretMask, secrets_among
from hornbook.process.shell_command import run_command
from tests.kit.waiting import SAFETY

SECRET = 'sk-ünïcode/+="key"'
values = st.text(st.characters(codec="utf-8"), min_size=12, max_size=40)


def test_only_what_is_called_a_secret_is_one() -> None:
    found = secrets_among(
        {
            "OPENAI_API_KEY": "sk-12345678",
            "DB_PASSWORD": "correct horse",
            "SHORT_TOKEN": "abc",
            "OPENAI_MODEL": "some-long-model",
            "KEY_FILE": "/home/me/key.pem",
            "PATH": "/usr/bin:/bin",
        }
    )
    assert found.keys() == {"OPENAI_API_KEY", "DB_PASSWORD"}


@given(value=values, before=st.binary(max_size=5), after=st.binary(max_size=5), data=st.data())
def test_no_form_of_a_secret_passes_in_whatever_pieces_it_comes(
    value: str, before: bytes, after: bytes, data: st.DataObject
) -> None:
    raw = value.encode()
    whole = b" ".join(
        [
            raw,
            quote(value, safe="").encode(),
            json.dumps(value).encode(),
            base64.b64encode(before + raw + after),
        ]
    )
    stream = SecretMask({"KEY": value}).stream()
    written, place = b"", 0
    while place < len(whole):
        size = data.draw(st.integers(1, 20))
        written += stream.add(whole[place : place + size])
        place += size
    written += stream.finish()
    assert raw not in written
    assert base64.b64encode(before + raw + after) not in written
    assert written.count(MASK) >= 4


@given(st.binary(max_size=200), st.integers(1, 30))
def test_what_holds_no_secret_is_written_as_it_is(text: bytes, size: int) -> None:
    stream = SecretMask({"KEY": SECRET}).stream()
    pieces = [text[n : n + size] for n in range(0, len(text), size)]
    assert b"".join([*map(stream.add, pieces), stream.finish()]) == text


def test_the_place_of_a_secret_is_told_by_name_and_line() -> None:
    found = list(SecretMask({"API_KEY": SECRET}).found_in(f"one\ntwo {SECRET}\n"))
    assert found == [("API_KEY", 2)]


def test_neither_log_nor_output_of_a_command_has_it(tmp_path: Path) -> None:
    command = f"printf %s '{SECRET[:7]}'; sleep 0.1; printf '%s\\n' '{SECRET[7:]}'"
    ended = run_command(
        command,
        folder=tmp_path,
        environment={"PATH": "/usr/bin:/bin"},
        timeout=SAFETY,
        log=tmp_path / "log",
        mask=SecretMask({"KEY": SECRET}),
    )
    assert ended.output == "[masked]\n"
    assert (tmp_path / "log").read_text() == "[masked]\n"

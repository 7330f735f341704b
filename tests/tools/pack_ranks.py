"""Make the package's rank tables from OpenAI's `.tiktoken` files.

    python tests/tools/pack_ranks.py cl100k_base.tiktoken o200k_base.tiktoken

The files are at https://openaipublic.blob.core.windows.net/encodings/<name>.tiktoken; the npm
package js-tiktoken holds the same tokens, from which they can be written again.
"""

import base64
import hashlib
import sys
from pathlib import Path

from hornbook.text.exact_counter import OFFICIAL_SHA256, pack, ranks_path


def tokens_in_rank_order(official: bytes) -> list[bytes]:
    """Return the tokens of a `.tiktoken` file, whose ranks run from 0 without a gap."""
    lines = [line.split() for line in official.splitlines()]
    if [int(rank) for _, rank in lines] != list(range(len(lines))):
        raise SystemExit("the ranks do not run from 0 without a gap: they need another form.")
    return [base64.b64decode(token) for token, _ in lines]


def main(paths: list[str]) -> None:
    """Write the packed form of each file, after comparing it with the digest we know."""
    for path in map(Path, paths):
        official = path.read_bytes()
        if hashlib.sha256(official).hexdigest() != OFFICIAL_SHA256[path.stem]:
            raise SystemExit(f"{path} is not the official table: its sha256 differs.")
        packed = pack(tokens_in_rank_order(official))
        ranks_path(path.stem).write_bytes(packed)
        print(f"{ranks_path(path.stem)}: {len(packed)} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Where things lie in this tree, whatever folder a test is in."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
PACKAGE = SOURCES / "hornbook"
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"
DATA = TESTS / "data"
CORPUS = ROOT.parent / "shared" / "corpus"

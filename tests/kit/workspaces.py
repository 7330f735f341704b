"""Small repositories to try things on: real files in a temporary folder."""

from pathlib import Path

ERROR_HANDLING = """\
---
category: sop
applies_to: "*.go"
severity: error
---

# Error Handling

All errors must include context about what operation failed.

## Requirements
1. Wrap errors with `fmt.Errorf("operation: %w", err)`
2. Include relevant identifiers
"""

TEST_COVERAGE = """\
---
category: sop
applies_to: ["**/*_test.go", "handlers/**"]
severity: warning
---

# Test Coverage

New functions SHOULD have tests.
"""

SOPS = ".semspec/sources/docs/sops"


def write(root: Path, files: dict[str, str]) -> Path:
    """Write files below a folder."""
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
    return root


def with_the_example_sop(root: Path) -> Path:
    """The repository of the source documents: two SOPs."""
    return write(
        root,
        {
            f"{SOPS}/error-handling.md": ERROR_HANDLING,
            f"{SOPS}/test-coverage.md": TEST_COVERAGE,
        },
    )

"""`python -m hornbook`."""

from hornbook.cli.main import main

main()

"""`python -m twill` is the `twill` command."""

from twill.cli.entry import main

main()

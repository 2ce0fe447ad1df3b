"""`python -m twill`."""

from twill.cli.entry import main

main()

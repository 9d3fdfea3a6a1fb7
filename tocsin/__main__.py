"""`python -m tocsin` is `tocsin`."""

from tocsin.cli import main

main()

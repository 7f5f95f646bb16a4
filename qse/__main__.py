"""Run the command line: python -m qse."""

from qse_cli.main import main

main()

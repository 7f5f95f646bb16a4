"""Run the command line: python -m qse."""

from qse_cli.main import main

if __name__ == "__main__":  # not where a configuration names this module
    main()

"""`python -m graphwalker`: the command line, where the script is not on the PATH."""

from graphwalker.cli.app import main

if __name__ == "__main__":
    main()

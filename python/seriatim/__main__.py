"""The command `seriatim`, which is in the wheel."""

import signal
import sys

from . import _seriatim


def main() -> None:
    # Python would only look at Ctrl-C when the command is over.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_seriatim.command(sys.argv[1:]))


if __name__ == "__main__":
    main()

"""Where the command begins, as ``flexcfl`` and as ``python -m flexcfl``.

All that it needs takes a while to import, so nothing is imported before Ctrl-C is told in one line.
"""

import os
import sys

__all__ = ["main"]

INTERRUPTED = 130
SENTENCE = b"Interrupted.\n"


def main() -> int:
    """Import the command, run it and return its exit code."""
    try:
        import signal

        ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if ours:  # else it is ignored, and stays so
            signal.signal(signal.SIGINT, _leave)
        from flexcfl.cli import main as command

        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return command()
    except KeyboardInterrupt:  # while no handler of ours is there
        os.write(2, SENTENCE)
        return INTERRUPTED


def _leave(*_: object) -> None:
    """End the process at once: an exception could be swallowed by what is just being imported."""
    try:
        os.write(2, SENTENCE)
    finally:
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())

"""The command ``forerun``: runs programs, and shows what the package does on this machine.

``docs/command.md`` describes it. Nothing here is imported by ``import forerun``.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from forerun._command.parser import parser

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments
        The words after ``forerun``; by default those of the process.
    """
    words = parser()
    options = words.parse_args(arguments)
    if options.command is None:
        words.print_help(sys.stderr)
        return 2
    command = importlib.import_module(f"forerun._command.{options.command}")
    if options.command == "run":
        # The program's own exceptions and interrupts must pass.
        return int(command.main(options))
    try:
        code = int(command.main(options))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has ended, as `head` does. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code

"""``forerun run``: a program runs as Python would run it, with tools around it.

The program gets a module ``__main__`` of its own, ``sys.argv`` and ``sys.path[0]`` as from Python. Tracebacks begin at
the program: the frames of this package below it are cut off.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import importlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import traceback
import types
from collections.abc import Callable
from typing import NamedTuple

import forerun

_PACKAGE = os.path.dirname(forerun.__file__) + os.sep
#: Modules that processes started by ``multiprocessing`` import instead of the dialect's package.
_STAND_INS = os.path.join(_PACKAGE, "_stand_ins")


class _Refused(Exception):
    """The program cannot be started; with the exit code that Python would use."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class _Program(NamedTuple):
    """A program: the first entry of ``sys.path``, ``sys.argv``, and how to load its code into ``__main__``."""

    path: str
    argv: list[str]
    load: Callable[[types.ModuleType], types.CodeType]


def main(options: argparse.Namespace) -> int:
    """Run a program; return its exit code, or raise what Python handles itself."""
    try:
        program = _program(options)
        if options.profile is not None and not os.path.isdir(os.path.dirname(os.path.abspath(options.profile))):
            raise _Refused(f"--profile {options.profile}: the folder does not exist", 2)
    except _Refused as refused:
        return _refuse(refused)
    if options.dialect is not None:
        importlib.import_module(f"forerun.{options.dialect}").install()
    status = 0
    try:
        with contextlib.ExitStack() as tools:
            _start_tools(options, tools)
            _execute(program, options.dialect)
    except SystemExit:
        raise
    except _Refused as refused:
        status = _refuse(refused)
    except BaseException as error:
        status = 1
        _show(error)
        if isinstance(error, KeyboardInterrupt):
            # Python ends the process by the signal, after a complaint that was made already.
            sys.excepthook = lambda *_: None
            raise
    finally:
        if options.blockers:
            sys.stdout.flush()
            print(forerun.blockers(), file=sys.stderr)
    return status


def _refuse(refused: _Refused) -> int:
    print(f"forerun run: {refused}", file=sys.stderr)
    return refused.code


def _start_tools(options: argparse.Namespace, tools: contextlib.ExitStack) -> None:
    if options.profile is not None:
        # The program may change the current folder.
        tools.enter_context(forerun.profile(os.path.abspath(options.profile)))
    if options.no_sync is not None:
        tools.enter_context(forerun.no_sync(options.no_sync))
    if options.detect_nonfinite:
        tools.enter_context(forerun.detect_nonfinite())


def _execute(program: _Program, dialect: str | None) -> None:
    """Run the program in a new module ``__main__``."""
    module = types.ModuleType("__main__")
    vars(module).update(__builtins__=builtins, __annotations__={})
    sys.argv[:] = program.argv
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = program.path
    if dialect is not None:
        sys.path.insert(1, _STAND_INS)
    code = program.load(module)
    sys.modules["__main__"] = module
    exec(code, vars(module))


def _show(error: BaseException) -> None:
    """Print an exception as Python does at the end of a program, without this package's outer frames."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        trace = trace.tb_next
    error.__traceback__ = trace
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    setattr(sys, "last_exc", error)  # noqa: B010 - Python 3.12 and later have it
    # What the program has printed comes first.
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    try:
        sys.excepthook(type(error), error, trace)
    except SystemExit:
        raise
    except BaseException as failure:
        print("Error in sys.excepthook:", file=sys.stderr)
        traceback.print_exception(failure)
        print("\nOriginal exception was:", file=sys.stderr)
        traceback.print_exception(error)


def _program(options: argparse.Namespace) -> _Program:
    """Return the program that the options name."""
    if options.module is not None or options.code is not None:
        words = options.code if options.module is None else options.module
        if not words:
            raise _Refused(f"{'-c' if options.module is None else '-m'} needs an argument", 2)
        if options.module is None:
            return _Program("", ["-c", *words[1:]], lambda module: compile(words[0], "<string>", "exec"))
        # Python shows "-m" while it looks for the module.
        return _Program(os.getcwd(), ["-m", *words[1:]], lambda module: _load_module(module, words[0]))
    if not options.program:
        raise _Refused("a program is missing; `forerun run --help` shows examples", 2)
    name = options.program[0]
    if name.startswith("-"):
        raise _Refused(f"unknown option {name}; `forerun run --help` lists the options", 2)
    # As Python does, without removing "./".
    path = os.path.join(os.getcwd(), name)
    if os.path.isdir(path) or importlib.machinery.PathFinder.find_spec("__main__", [path]) is not None:
        return _Program(path, options.program, lambda module: _load_folder(module, path))
    if not os.path.isfile(path):
        raise _Refused(f"can't open file {path!r}: no such file", 2)
    folder = os.path.dirname(os.path.realpath(path))
    return _Program(folder, options.program, lambda module: _load_file(module, path))


def _load_file(module: types.ModuleType, path: str) -> types.CodeType:
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    vars(module).update(__file__=path, __cached__=None, __loader__=loader, __package__=None)
    with io.open_code(path) as file:
        return compile(file.read(), path, "exec", dont_inherit=True)


def _load_folder(module: types.ModuleType, path: str) -> types.CodeType:
    spec = importlib.machinery.PathFinder.find_spec("__main__", [path])
    if spec is None:
        raise _Refused(f"can't find '__main__' module in {path!r}", 1)
    return _load_spec(module, spec)


def _load_module(module: types.ModuleType, name: str) -> types.CodeType:
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        inside = importlib.util.find_spec(f"{name}.__main__")
        if inside is None:
            text = f"no module named {name}.__main__; {name!r} is a package and cannot be directly executed"
            raise _Refused(text, 1)
        spec = inside
    if spec is None:
        raise _Refused(f"no module named {name}", 1)
    code = _load_spec(module, spec)
    sys.argv[0] = spec.origin or name
    return code


def _load_spec(module: types.ModuleType, spec: importlib.machinery.ModuleSpec) -> types.CodeType:
    get_code = getattr(spec.loader, "get_code", None)
    code = None if get_code is None else get_code(spec.name)
    if code is None:
        raise _Refused(f"no code object available for {spec.name}", 1)
    vars(module).update(
        __file__=spec.origin,
        __cached__=spec.cached,
        __loader__=spec.loader,
        __package__=spec.parent,
        __spec__=spec,
    )
    assert isinstance(code, types.CodeType)
    return code

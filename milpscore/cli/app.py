"""The commands put together, and the one place where errors become exit codes."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import distributions
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from milpscore._version import __version__
from milpscore.cli.common import complain, speller
from milpscore.core.errors import MilpscoreError, Registry

# Typer makes only this one of its usage errors public; the others share its base.
_UsageError: Any = typer.BadParameter.__base__


_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Why standard output takes nothing more; errors of files name theirs."""

_HOME = "milpscore.cli."

COMMANDS: Registry[Callable[..., None] | typer.Typer] = Registry(
    "command",
    {
        "fit": f"{_HOME}_fit:fit_command",
        "compare": f"{_HOME}compare:compare_command",
        "path": f"{_HOME}path:path_command",
        "pool": f"{_HOME}_pool:pool_command",
        "export": f"{_HOME}_fit:export_command",
        "card": f"{_HOME}saved:card_command",
        "predict": f"{_HOME}saved:predict_command",
        "counterfactual": f"{_HOME}_counterfactual:counterfactual_command",
        "update": f"{_HOME}saved:update_command",
        "counts": f"{_HOME}sites:counts_command",
        "sites": f"{_HOME}sites:sites_command",
        "verify": f"{_HOME}saved:verify_command",
        "report": "milpscore_show.report_command:report_command",
        "list": f"{_HOME}_fit:list_command",
        "demo": f"{_HOME}compare:demo_command",
        "study": "milpscore_study.study_command:study_app",
        "studio": "milpscore_show.studio_command:studio_command",
        "race": "milpscore_study.race_command:race_command",
        "crf": "milpscore_sequence.command:crf_app",
    },
)
"""A command's module is imported when it runs, or when its help is asked for."""


PLUGGED = {
    "milpscore.commands": f"{__name__}:COMMANDS",
    "milpscore.formulations": "milpscore.formulations:FORMULATIONS",
    "milpscore.solvers": "milpscore.solvers:SOLVERS",
    "milpscore.constraints": "milpscore.constraints:CONSTRAINTS",
}
"""Groups of entry points, and the registry that each adds to."""


@cache
def plug_in() -> None:
    """Register what installed packages offer by entry points; nothing of theirs is imported."""
    for point in (point for each in distributions() for point in each.entry_points):
        if point.group in PLUGGED:
            module, _, name = PLUGGED[point.group].partition(":")
            getattr(import_module(module), name).register(point.name, point.value)


class _Postponed(ModuleType):
    """A module that is loaded at the first look into it."""

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        assert spec is not None
        self.__class__ = ModuleType  # type: ignore[assignment]  # like any other from here on
        self.__path__ = list(spec.submodule_search_locations or ())
        spec.loader_state.exec_module(self)
        return getattr(self, name)


class Postponing:
    """Keeps modules from being loaded before somebody looks into them, in a process of our own.

    Pyomo and scikit-learn import SciPy's statistics, integrals and geometry whoever asks for them:
    a second of CPU before the first card, and no fit of a card reads any of it. (importlib's own
    LazyLoader loads a module as soon as it is imported twice.)
    """

    def __init__(self, *names: str) -> None:
        self.names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's own spec, its loader kept for later."""
        if fullname not in self.names or (spec := PathFinder.find_spec(fullname, path)) is None:
            return None
        spec.loader, spec.loader_state = self, spec.loader  # type: ignore[assignment]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Nothing special."""

    def exec_module(self, module: ModuleType) -> None:
        """Leave it empty, without a path even: a look for its submodules is a look into it."""
        module.__class__ = _Postponed
        del module.__path__


class Commands(TyperGroup):
    """Expected errors end as one line on standard error and exit code 2; others propagate."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        names: dict[str, Any] = dict.fromkeys(COMMANDS)  # get_command makes what is run
        self.commands = names
        self.asked: Any = None

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, or None."""
        if cmd_name not in self.commands:
            return None
        found = COMMANDS[cmd_name]
        if not isinstance(found, typer.Typer):
            from milpscore.cli.groups import grouped

            found, function = typer.Typer(add_completion=False), found
            found.command(cmd_name)(grouped(function))
        command = typer.main.get_command(found)
        command.name = cmd_name
        self.asked = command
        return command

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command; Typer alone would print a panel of several lines for a wrong option."""
        standalone = extra.pop("standalone_mode", True)
        handler = signal.getsignal(signal.SIGINT)
        try:
            plug_in()
            names: dict[str, Any] = dict.fromkeys(COMMANDS)
            self.commands = names
            code = super().main(*args, **{**extra, "standalone_mode": False})
            if sys.stdout is not None:
                sys.stdout.flush()
        except _UsageError as error:
            said = error.format_message().replace("Value error, ", "")
            help_page = "" if error.ctx is None else f" (see {error.ctx.command_path} --help)"
            code = complain(said + help_page)
        except MilpscoreError as error:
            code = complain(error.for_command(speller(self.asked.params if self.asked else [])))
        except OSError as error:
            if error.filename is None and error.errno not in _CANNOT_WRITE:
                raise
            if error.filename is None:  # what is left in the buffer must not fail once more
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = complain(f"{error.filename or 'standard output'}: {error.strerror}")
        finally:
            # a command that saved its work has left one that only notes the first Ctrl-C
            if signal.getsignal(signal.SIGINT) is not handler:
                signal.signal(signal.SIGINT, handler)
        if standalone:
            sys.exit(code or 0)
        return code or 0


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"milpscore {__version__}")
        raise typer.Exit()


app = typer.Typer(
    name="milpscore",
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    # An unexpected error is a bug: its plain traceback is what a report needs.
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def milpscore(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Integer scoring systems with certificates.

    A scoring system is a card: whole-number points for a few features,
    and a threshold. Every card comes with an objective re-checked on the
    data and a proven bound on what any card could reach.

    Exit codes: 0 there is a card (verify: all is proved), 1 there is none
    (verify: something is not proved), 2 bad input, 130 Ctrl-C.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())

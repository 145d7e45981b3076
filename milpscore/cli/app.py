"""The commands put together, and the one place where errors become exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from milpscore._version import __version__
from milpscore.cli._compare import compare_command
from milpscore.cli._crf import crf_app
from milpscore.cli._fit import export_command, fit_command, list_command
from milpscore.cli._path import path_command
from milpscore.cli._pool import pool_command
from milpscore.cli._saved import predict_command, report_command, verify_command
from milpscore.cli._study import study_app
from milpscore.cli.common import complain
from milpscore.cli.demo import demo_command
from milpscore.cli.groups import grouped
from milpscore.core.errors import MilpscoreError

# Typer makes only this one of its usage errors public; the others share its base.
_UsageError: Any = typer.BadParameter.__base__


class OneLineErrors(TyperGroup):
    """Expected errors end as one line on standard error and exit code 2; others propagate."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command; Typer alone would print a panel of several lines for a wrong option."""
        standalone = extra.pop("standalone_mode", True)
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except _UsageError as error:
            code = complain(error.format_message() + _where_to_look(error))
        except MilpscoreError as error:
            code = complain(str(error))
        except OSError as error:
            if error.filename is None:
                raise
            code = complain(f"{error.filename}: {error.strerror}")
        if standalone:
            sys.exit(code or 0)
        return code or 0


def _where_to_look(error: Any) -> str:
    """The help page that lists what is allowed."""
    return "" if error.ctx is None else f" (see {error.ctx.command_path} --help)"


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"milpscore {__version__}")
        raise typer.Exit()


app = typer.Typer(
    name="milpscore",
    cls=OneLineErrors,
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


_COMMANDS: dict[str, Callable[..., None]] = {
    "fit": fit_command,
    "compare": compare_command,
    "path": path_command,
    "pool": pool_command,
    "export": export_command,
    "predict": predict_command,
    "verify": verify_command,
    "report": report_command,
    "list": list_command,
    "demo": demo_command,
}
for name, command in _COMMANDS.items():
    app.command(name)(grouped(command))
app.add_typer(study_app, name="study")
app.add_typer(crf_app, name="crf")

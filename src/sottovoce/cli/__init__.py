"""The command `sotto`: thin commands over the library, a file each."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import ModuleType

import click

from sottovoce import __version__
from sottovoce.core.errors import SottovoceError
from sottovoce.core.lazy import AFTER_LOADING

# Each command is imported when it is called, so that none waits for what another one needs.
GROUPS = {
    "Start here": {
        "demo": ("demo", "See it all at work: a town of simulated people, and estimates."),
        "poll": ("poll", "Ask the people in a room, who answer on their phones."),
        "plan": ("plan", "How many people to ask, at which privacy, for which error."),
    },
    "Data": {
        "randomize": ("randomize", "Randomize columns of a table into a file of reports."),
        "estimate": ("estimate", "Estimate what lies behind files of reports."),
        "discover": ("discover", "Find the frequent texts behind files of reports."),
    },
    "Surveys and devices": {
        "survey": ("survey", "Write, check and publish a survey."),
        "answer": ("answer", "Answer a published survey as a person's device does."),
        "ledger": ("answer.ledger", "Show what a person's device has spent, on what and when."),
        "send": ("send", "Send a file of reports to a survey at a URL."),
        "key": ("key", "Make and show keys: to seal reports with, and personal ones."),
    },
    "Statistics": {
        "analyze": ("analyze", "Analyse a column of answers to a sensitive question."),
        "regress": ("regress", "Fit a regression to columns of which some are randomized."),
        "compare": ("compare", "Publish one histogram under several trust models, and compare."),
        "audit": ("audit", "Test whether a randomizer spends more privacy than it claims."),
        "shuffle": ("shuffle", "Compute what a shuffled batch of reports costs."),
    },
    "Services": {
        "serve": ("serve", "Run a collector: it takes reports and shows estimates."),
        "token": ("token", "Make, list and revoke a collector's tokens and invitations."),
        "export": ("send.export_reports", "Write all reports to a survey into a Parquet file."),
        "import": ("send.import_reports", "Add the reports in a Parquet or Arrow file to a survey."),
        "shuffler": ("shuffler", "Run a shuffler: it mixes sealed reports that it cannot read."),
        "curator": ("curator", "Run a curator: it holds answers, and sends only sealed shares."),
        "federate": ("federate", "Have curators add up a column, with noise inside the sum."),
    },
}
"""The commands by who needs them: the home of each, and a line about it."""
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}


class Commands(click.Group):
    """The commands by their names, and a line about each that needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(".")
        command: click.Command = getattr(import_module(f"sottovoce.cli.{module}"), name or module)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), line) for name, (_, line) in group.items()])


class NoPandas(MetaPathFinder):
    """While this is among the finders of modules, there is no pandas."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def leave_out_pandas(arrow: ModuleType) -> None:
    """Have Arrow make its first array now, so that it finds no pandas and never looks again.

    Otherwise it imports pandas for the first value that it converts, which takes longer than all the rest of a command.
    """
    finder = NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        arrow.array([])
    finally:
        sys.meta_path.remove(finder)


def main(arguments: list[str] | None = None) -> int:
    """Run `sotto` and return its exit code: 0, or 2 with one line on standard error."""
    if arguments is None and "regress" not in sys.argv[1:2]:  # This process is a command, and needs no data frames.
        AFTER_LOADING["pyarrow"] = leave_out_pandas
    try:
        code = sotto.main(arguments, prog_name="sotto", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        return _fail(error.format_message())
    except SottovoceError as error:
        return _fail(str(error))
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Nothing is left to flush to.
        return 0
    except OSError as error:
        return _fail(f"standard output: {error.strerror or error}")
    return code if isinstance(code, int) else 0


def _fail(message: str, code: int = 2) -> int:
    click.echo("sotto: " + " ".join(message.split()), err=True)
    return code


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="sotto")
def sotto() -> None:
    """Learn from answers you should not see: local differential privacy, exactly."""

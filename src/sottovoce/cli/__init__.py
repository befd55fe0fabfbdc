"""The command `sotto`: thin commands over the library, a file each."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from sottovoce import __version__
from sottovoce.errors import SottovoceError

# Each command is imported when it is called, so that none waits for what another one needs.
COMMANDS = {
    "analyze": ("analyze", "Analyse the answers to a sensitive question in a column of a table."),
    "answer": ("answer", "Answer a published survey as a person's device does."),
    "audit": ("audit", "Find out what a randomizer spends at least, beside what it claims."),
    "compare": ("compare", "Publish one histogram under several trust models, beside the exact one."),
    "curator": ("curator", "Hold answers of which counts leave only in sealed shares."),
    "demo": ("demo", "The whole path: a town of simulated people, a device each, a collector."),
    "discover": ("discover", "Find the frequent texts behind files of reports."),
    "estimate": ("estimate", "Estimate what lies behind files of reports."),
    "export": ("send.export_reports", "Write all reports to a survey to a Parquet file."),
    "federate": ("federate", "Have curators add up a column, with noise inside the sum."),
    "import": ("send.import_reports", "Add the reports in a Parquet or Arrow file to a survey."),
    "key": ("key", "Make and show keys: those that reports are sealed to, and personal ones."),
    "ledger": ("answer.ledger", "Show what a person's device has spent, on what and when."),
    "plan": ("plan", "How many people, how much privacy, how sharp a result."),
    "poll": ("poll", "Ask a question in the room: people answer on their phones."),
    "randomize": ("randomize", "Randomize columns of a table into a file of reports."),
    "regress": ("regress", "Regression on columns of which some hold randomized answers."),
    "send": ("send", "Send a file of reports to a survey at a URL."),
    "serve": ("serve", "Run a collector: it takes reports in, keeps them, and shows estimates."),
    "shuffle": ("shuffle", "What a shuffled batch of reports costs, or what reaches a target."),
    "shuffler": ("shuffler", "Run a shuffler: it mixes sealed reports that it cannot read."),
    "survey": ("survey", "Write, check and publish surveys."),
    "token": ("token", "Make, list and revoke tokens and invitations."),
}


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
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def main(arguments: list[str] | None = None) -> int:
    """Run `sotto` and return its exit code: 0, or 2 with one line on standard error."""
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

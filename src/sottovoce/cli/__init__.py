"""The command `sotto`: thin commands over the library, a file each."""

from __future__ import annotations

import os
import sys

import click

from sottovoce import __version__
from sottovoce.cli.analyze import analyze
from sottovoce.cli.answer import answer, ledger
from sottovoce.cli.audit import audit
from sottovoce.cli.compare import compare
from sottovoce.cli.curator import curator
from sottovoce.cli.demo import demo
from sottovoce.cli.discover import discover
from sottovoce.cli.estimate import estimate
from sottovoce.cli.federate import federate
from sottovoce.cli.key import key
from sottovoce.cli.plan import plan
from sottovoce.cli.poll import poll
from sottovoce.cli.randomize import randomize
from sottovoce.cli.regress import regress
from sottovoce.cli.send import export_reports, import_reports, send
from sottovoce.cli.serve import serve
from sottovoce.cli.shuffle import shuffle
from sottovoce.cli.shuffler import shuffler
from sottovoce.cli.survey import survey
from sottovoce.cli.token import token
from sottovoce.errors import SottovoceError


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


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="sotto")
def sotto() -> None:
    """Learn from answers you should not see: local differential privacy, exactly."""


for command in (
    randomize,
    estimate,
    discover,
    analyze,
    regress,
    compare,
    audit,
    plan,
    shuffle,
    survey,
    answer,
    ledger,
    demo,
    serve,
    poll,
    shuffler,
    key,
    send,
    token,
    export_reports,
    import_reports,
    curator,
    federate,
):
    sotto.add_command(command)

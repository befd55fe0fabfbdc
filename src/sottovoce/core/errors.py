"""What can go wrong, by cause. Every message is one line: what, which rule, which value."""


class SottovoceError(ValueError):
    """The root of all errors raised on purpose. A value that takes several lines to show is put in one."""

    def __str__(self) -> str:
        return " ".join(line.strip() for line in super().__str__().splitlines())


class ParameterError(SottovoceError):
    """A mechanism, an estimate or a command was asked for something impossible."""


class DomainError(SottovoceError):
    """An answer lies outside its domain, or is missing where that is refused."""


class ReportError(SottovoceError):
    """A report could not have come from the mechanism it is counted for."""


class FileError(SottovoceError):
    """A file is missing, empty, damaged or of another kind than expected."""


class Refusal(SottovoceError):  # noqa: N818
    """A device will not answer: the survey is not what was pinned, has expired, or costs more than is left."""


class StoreError(SottovoceError):
    """What a device remembers cannot be read or written."""


class StoreUnavailable(StoreError):  # noqa: N818
    """A store cannot be reached or written now; the same may work later."""


class StoreFull(StoreUnavailable):
    """There is no room left on the disk."""


class SealError(SottovoceError):
    """A key is not one, or a sealed message does not open."""


class MissingDependencyError(SottovoceError, ImportError):
    """An optional library is not installed; the message says which extra brings it."""

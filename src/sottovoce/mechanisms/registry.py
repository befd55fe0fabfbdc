"""What follows from the declarations of all mechanisms: their names, and the way back from JSON to a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.mechanisms import MECHANISMS
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.frequency.choose import choose
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.longitudinal.base import Longitudinal


def _load(export: str, module: str) -> type[Mechanism]:
    found: type[Mechanism] = getattr(import_module(f"sottovoce.mechanisms.{module}"), export)
    return found


REGISTRY: dict[str, type[Mechanism]] = {
    kind.name: kind for kind in (_load(export, module) for export, module in MECHANISMS.items())
}
"""The class of each mechanism by the name that it declares, which is its name in JSON."""

FREQUENCIES: dict[str, type[Pure]] = {
    name: kind for name, kind in REGISTRY.items() if issubclass(kind, Pure) and not issubclass(kind, Longitudinal)
}
"""Those that ask for one of several listed values, and remember nothing."""


def names_serving(question_kind: str) -> tuple[str, ...]:
    """What a question of this kind may give as its mechanism, beside "auto".

    >>> names_serving("multiple"), names_serving("text")
    (('sets',), ('hashed', 'bloom', 'discovery'))
    """
    serving = (kind for kind in REGISTRY.values() if question_kind in kind.question_kinds)
    return tuple(name for kind in serving for name in kind.question_names or (kind.name,))


def build(name: str, domain: Domain, epsilon: float, max_bits: int | None = None) -> Pure:
    """A frequency mechanism by its name, in its optimal kind; "auto" leaves the choice to `choose`."""
    if name == "auto":
        return choose(domain, epsilon, max_bits=max_bits)
    if name not in FREQUENCIES:
        raise ParameterError(f"a mechanism must be auto or one of {', '.join(FREQUENCIES)}, got {name!r}")
    make: Callable[..., Pure] = FREQUENCIES[name]  # All constructors have these two arguments in common.
    built = make(domain=domain, epsilon=epsilon)
    if max_bits is not None and built.bits > max_bits:
        raise ParameterError(
            f"{name} takes {built.bits} bits for {domain.size} values, more than max_bits = {max_bits}"
        )
    return built


def mechanism(data: Mapping[str, object]) -> Mechanism:
    """The mechanism that `to_dict` wrote down. What does not add up is refused.

    >>> from sottovoce.mechanisms import KRR
    >>> m = KRR(["a", "b", "c"], epsilon=1.0)
    >>> mechanism(m.to_dict()) == m
    True
    """
    name = data.get("mechanism") if isinstance(data, Mapping) else data
    if not isinstance(name, str) or name not in REGISTRY:
        raise ParameterError(f"a mechanism must be one of {', '.join(REGISTRY)}, got {name!r:.80}")
    try:
        return REGISTRY[name].from_dict(dict(data))
    except SottovoceError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:  # JSON of another shape.
        raise ParameterError(f"{name} cannot be read: {type(error).__name__}: {error!s:.80}") from None

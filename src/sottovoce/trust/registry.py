"""The trust models by name. A new one is an entry here."""

from __future__ import annotations

from collections.abc import Iterable

from sottovoce.core.errors import ParameterError
from sottovoce.trust.base import TrustModel
from sottovoce.trust.central import Central
from sottovoce.trust.federated.curators import Federated, SecureSum
from sottovoce.trust.local import Local
from sottovoce.trust.shuffle import Shuffle

MODELS: dict[str, TrustModel] = {"central": Central(), "shuffle": Shuffle(), "local": Local()}
MODELS |= {"federated": Federated(), "secure": SecureSum()}


def trust_models(models: Iterable[str | TrustModel]) -> tuple[TrustModel, ...]:
    """Models as they are or by name, each once."""
    if isinstance(models, str | TrustModel) or not isinstance(models, Iterable):
        raise ParameterError(f"models must be a list of trust models, got {models!r:.60}")
    found = tuple(map(_model, models))
    names = [model.name for model in found]
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"models must be at least one, and each of them once, got {names!r:.80}")
    return found


def _model(model: str | TrustModel) -> TrustModel:
    if isinstance(model, TrustModel):
        return model
    if not isinstance(model, str) or model not in MODELS:
        raise ParameterError(f"a trust model must be one of {', '.join(MODELS)}, got {model!r:.60}")
    return MODELS[model]

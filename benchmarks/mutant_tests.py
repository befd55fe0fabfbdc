"""Which tests are about which module, for the mutation run. The examples in a module run with them."""

from __future__ import annotations

from pathlib import Path

TESTS: dict[str, tuple[str, ...]] = {
    "accounting": ("limits", "client", "hostile"),
    "canonical": ("limits", "canonical", "survey_vectors"),
    "client": ("client", "text_over_time", "wire_vectors", "hostile"),
    "domain/attributes": ("limits", "domain", "several", "tally"),
    "domain/columns": ("domain", "files", "tally", "hostile"),
    "domain/keyed": ("limits", "domain", "key_value"),
    "domain/options": ("limits", "domain", "sets"),
    "domain/scale": ("limits", "domain", "mean", "ranges", "square_wave"),
    "domain/text": ("limits", "domain", "text"),
    "domain/values": ("limits", "domain", "mechanisms", "tally"),
    "envelope": ("limits", "sealing", "shuffler"),
    "estimate/distribution": ("estimate_defaults", "square_wave", "estimate"),
    "estimate/frequencies": ("estimate_defaults", "estimate", "mechanisms", "proportion"),
    "estimate/hashed": ("estimate_defaults", "hashed", "estimate"),
    "estimate/key_means": ("estimate_defaults", "key_value", "estimate"),
    "estimate/mean": ("estimate_defaults", "mean", "estimate"),
    "estimate/null_law": ("estimate_defaults", "hashed", "discovery", "estimate"),
    "estimate/result": ("estimate_defaults", "estimate", "mechanisms", "postprocess"),
    "estimate/shares": ("estimate_defaults", "estimate", "sets", "several"),
    "estimate/sums": ("estimate_defaults", "estimate", "mean", "key_value"),
    "field": ("limits", "field", "mechanisms", "kernels"),
    "geometry": ("mechanisms", "kernels", "vectors"),
    "hashing": ("limits", "hashing", "vectors", "rounds"),
    "ledger": ("client", "hostile", "federated_survey"),
    "mechanisms": ("vectors", "mechanisms", "contract"),
    "mechanisms/bloom": ("text", "text_over_time", "vectors", "contract"),
    "mechanisms/bucketed": ("hashed", "vectors", "contract"),
    "mechanisms/changes": ("changes", "vectors", "contract"),
    "mechanisms/chain": ("memoized", "changes", "over_time", "contract"),
    "mechanisms/chained": ("memoized", "changes", "over_time", "contract"),
    "mechanisms/cohorts": ("memoized", "hashed", "discovery", "vectors", "contract"),
    "mechanisms/dbitflip": ("memoized", "over_time", "vectors", "contract"),
    "mechanisms/discovery": ("discovery", "vectors", "contract"),
    "mechanisms/hashed": ("hashed", "vectors", "contract"),
    "mechanisms/key_value": ("key_value", "vectors", "contract"),
    "mechanisms/longitudinal": ("memoized", "over_time", "vectors", "contract"),
    "mechanisms/mean": ("mean", "vectors", "contract"),
    "mechanisms/memoized": ("memoized", "over_time", "vectors", "contract"),
    "mechanisms/memoized_kinds": ("memoized", "over_time", "vectors", "contract"),
    "mechanisms/numeric": ("mean", "square_wave", "vectors", "contract"),
    "mechanisms/ranges": ("ranges", "vectors", "contract"),
    "mechanisms/sets": ("sets", "vectors", "contract"),
    "mechanisms/several": ("several", "vectors", "contract"),
    "mechanisms/square_wave": ("square_wave", "vectors", "contract"),
    "models/curator_curve": ("compare", "models", "federated"),
    "models/curve": ("compare", "models"),
    "models/federated": ("limits", "federated", "federated_survey"),
    "models/noise": ("models", "compare", "federated"),
    "models/shuffle": ("shuffle",),
    "privacy": ("privacy", "randomness", "vectors", "mechanisms", "contract"),
    "randomness": ("randomness", "vectors", "contract"),
    "reports": ("tally", "vectors", "wire_vectors", "mechanisms", "files"),
    "sealing": ("sealing", "seal_js", "shuffler"),
    "shuffler/slots": ("shuffler",),
    "shuffler/store": ("shuffler",),
    "survey": ("limits", "survey", "survey_vectors", "survey_schema", "survey_cli", "hostile"),
    "survey/federation": ("limits", "federated_survey", "survey", "survey_vectors"),
    "survey/mixing": ("survey", "survey_vectors", "shuffler"),
    "survey/shuffle": ("limits", "survey", "survey_vectors", "shuffler"),
    "survey/split": ("federated_survey", "survey", "survey_vectors"),
    "tally": ("tally", "mechanisms", "vectors"),
    "wire": ("limits", "wire_vectors", "client", "hostile"),
}
"""By module, or by the folder it is in: the files of tests, without `test_`, the quickest first."""

NOT_ON_THE_PATH = ("__init__", "_estimate", "_plan", "combinations", "choose", "decoding", "moments", "window")
"""How modules end that only estimate or choose, or only name others."""


def modules(root: Path) -> list[str]:
    """The modules that mistakes are made in."""
    source = root / "src" / "sottovoce"
    found = {path for name in TESTS for path in (source / f"{name}.py", *source.glob(f"{name}/*.py")) if path.exists()}
    return sorted(str(path.relative_to(root)) for path in found if not path.stem.endswith(NOT_ON_THE_PATH))


def tests_of(root: Path, file: str) -> list[str]:
    """What to run for a module: its own examples, and then its files of tests."""
    name = file.removeprefix("src/sottovoce/").removesuffix(".py")
    own = TESTS.get(name) or TESTS[name.rpartition("/")[0]]
    return [file, *(f"tests/test_{test}.py" for test in own if (root / f"tests/test_{test}.py").exists())]

"""Which tests are about which module, for the mutation run. The examples in a module run with them."""

from __future__ import annotations

from pathlib import Path

TESTS: dict[str, tuple[str, ...]] = {
    "device/accounting": ("limits", "respondent", "hostile"),
    "core/canonical": ("limits", "canonical", "survey_vectors"),
    "device/respondent": ("drafts", "respondent", "text_over_time", "wire_vectors", "hostile"),
    "core/domain/attributes": ("limits", "domain", "several", "tally"),
    "core/domain/columns": ("domain", "files", "tally", "hostile"),
    "core/domain/keyed": ("limits", "domain", "key_value"),
    "core/domain/options": ("limits", "domain", "sets"),
    "core/domain/scale": ("limits", "domain", "scale", "mean", "ranges", "square_wave"),
    "core/domain/text": ("limits", "domain", "text"),
    "core/domain/values": ("limits", "domain", "mechanisms", "tally"),
    "device/envelope": ("limits", "sealing", "shuffler"),
    "estimates/distribution": ("estimate_defaults", "square_wave", "estimate"),
    "estimates/frequencies": ("estimate_defaults", "estimate", "mechanisms", "proportion"),
    "estimates/hashed": ("estimate_defaults", "hashed", "estimate"),
    "estimates/key_means": ("estimate_defaults", "key_value", "estimate"),
    "estimates/mean": ("estimate_defaults", "mean", "estimate"),
    "estimates/null_distribution": ("estimate_defaults", "hashed", "discovery", "estimate"),
    "estimates/result": ("estimate_defaults", "estimate", "mechanisms", "mean", "postprocess"),
    "estimates/shares": ("estimate_defaults", "estimate", "sets", "several"),
    "estimates/event_shares": ("estimate_defaults", "estimate", "mean", "key_value"),
    "core/field": ("limits", "field", "mechanisms", "kernels"),
    "core/geometry": ("mechanisms", "kernels", "vectors", "field", "ranges"),
    "core/hashing": ("limits", "hashing", "vectors", "rounds"),
    "device/hiding": ("store_secrecy", "personal_key"),
    "device/ledger_schema": ("respondent", "hostile", "store_secrecy"),
    "device/personal_key": ("personal_key", "store_secrecy"),
    "device/ledger": ("respondent", "hostile", "federated_survey"),
    "mechanisms": ("vectors", "mechanisms", "contract"),
    "mechanisms/compound": ("vectors", "mechanisms", "contract"),
    "mechanisms/frequency": ("vectors", "mechanisms", "contract"),
    "mechanisms/longitudinal": ("vectors", "mechanisms", "contract"),
    "mechanisms/numeric": ("vectors", "mechanisms", "contract"),
    "mechanisms/text": ("vectors", "mechanisms", "contract"),
    "mechanisms/text/bloom": ("text", "hashed", "mechanisms", "text_over_time", "vectors", "contract"),
    "mechanisms/text/bucket_mechanism": ("hashed", "vectors", "contract"),
    "mechanisms/longitudinal/changes": ("changes", "vectors", "contract"),
    "mechanisms/longitudinal/answer_costs": ("memoized", "changes", "over_time", "contract"),
    "mechanisms/longitudinal/chain": ("memoized", "changes", "over_time", "contract"),
    "mechanisms/text/cohorts": ("memoized", "hashed", "discovery", "vectors", "contract"),
    "mechanisms/longitudinal/dbitflip": ("memoized", "over_time", "vectors", "contract"),
    "mechanisms/text/discovery": ("discovery", "vectors", "contract"),
    "mechanisms/text/hashed": ("hashed", "vectors", "contract"),
    "mechanisms/compound/key_value": ("key_value", "vectors", "contract"),
    "mechanisms/longitudinal/base": ("memoized", "over_time", "vectors", "contract"),
    "mechanisms/numeric/mean": ("mean", "vectors", "contract"),
    "mechanisms/longitudinal/memoized": ("memoized", "over_time", "vectors", "contract"),
    "mechanisms/longitudinal/memoized_design": ("memoized", "over_time", "vectors", "contract"),
    "mechanisms/longitudinal/memoized_kinds": ("memoized", "over_time", "vectors", "contract"),
    "mechanisms/longitudinal/permanent_answers": ("memoized", "over_time", "vectors", "contract"),
    "mechanisms/longitudinal/places": ("memoized", "over_time", "vectors", "contract"),
    "mechanisms/numeric/base": ("mean", "square_wave", "vectors", "contract"),
    "mechanisms/compound/ranges": ("ranges", "vectors", "contract"),
    "mechanisms/compound/sets": ("sets", "vectors", "contract"),
    "mechanisms/compound/several": ("several", "vectors", "contract"),
    "mechanisms/numeric/square_wave": ("square_wave", "vectors", "contract"),
    "trust/curator_errors": ("compare", "trust", "federated"),
    "trust/curve": ("compare", "trust"),
    "trust/federated": ("limits", "federated", "federated_survey"),
    "trust/noise": ("trust", "compare", "federated"),
    "trust/shuffle": ("shuffle", "shuffle_exact", "shuffle_work"),
    "core/privacy": ("privacy", "randomness", "vectors", "mechanisms", "contract"),
    "core/randomness": ("randomness", "vectors", "contract"),
    "core/reports": ("tally", "vectors", "wire_vectors", "mechanisms", "files", "contract"),
    "core/sealing": ("sealing", "seal_js", "shuffler"),
    "shuffler/slots": ("shuffler",),
    "shuffler/store": ("shuffler",),
    "survey": ("limits", "survey", "survey_vectors", "survey_schema", "survey_cli", "hostile"),
    "survey/federation": ("limits", "federated_survey", "survey", "survey_vectors"),
    "survey/minimum": ("boundaries", "live", "poll"),
    "survey/shuffle_guarantee": ("shuffle_guarantee", "survey", "survey_vectors", "shuffler"),
    "survey/shuffle_settings": ("limits", "survey", "survey_vectors", "shuffler"),
    "survey/split": ("federated_survey", "survey", "survey_vectors"),
    "estimates/tally": ("tally", "mechanisms", "vectors"),
    "device/wire": ("limits", "wire_vectors", "respondent", "hostile"),
}
"""By module, or by the folder it is in: the files of tests, without `test_`, the quickest first."""

NOT_ON_THE_PATH = (
    "__init__", "_estimate", "_plan", "combinations", "choose", "decoding", "group_results", "moments", "overview",
    "planner", "window",
)  # fmt: skip
"""How modules end that only estimate or choose, or only name others."""


def modules(root: Path) -> list[str]:
    """The modules that mistakes are made in."""
    source = root / "src" / "sottovoce"
    found = {path for name in TESTS for path in (source / f"{name}.py", *source.glob(f"{name}/*.py")) if path.exists()}
    return sorted(str(path.relative_to(root)) for path in found if not path.stem.endswith(NOT_ON_THE_PATH))


def tests_of(root: Path, file: str) -> list[str]:
    """What to run for a module: its own examples, its files of tests, and then all others of its room."""
    name = file.removeprefix("src/sottovoce/").removesuffix(".py")
    own = TESTS.get(name) or TESTS[name.rpartition("/")[0]]
    named = [path for test in own for path in root.glob(f"tests/*/test_{test}.py")]
    room = sorted(root.glob(f"tests/{name.partition('/')[0]}/test_*.py"))
    return [file, *(str(path.relative_to(root)) for path in dict.fromkeys([*named, *room]))]

"""Mistakes planted by name: each once passed the tests, and now must not.

A plant replaces one piece of text, which must be in its file exactly once. To add one, add it here, and run
`python benchmarks/mutants.py --planted NAME`.
"""

from __future__ import annotations

from dataclasses import dataclass

POWER, COUNTS = "tests/whole/test_power_loss.py", "tests/data/test_spark_counts.py"
BOUNDARIES = "tests/whole/test_boundaries.py"


@dataclass(frozen=True)
class Plant:
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    """What pytest is to run: at least one of these must fail with the mistake, and none without it."""


def _outlives(work: str) -> tuple[str, ...]:
    """The tests in which the power is cut while something is done."""
    return (f"{POWER}::test_what_was_acknowledged_outlives_a_power_cut[{work}]",)


def _unsynced() -> list[Plant]:
    """The stores do not wait for the disk: not at all, or not for all that they need."""
    ledger, collector = "src/sottovoce/device/ledger.py", "src/sottovoce/collector/sqlite.py"
    store = "src/sottovoce/shuffler/store.py"
    return [
        Plant("ledger-off", ledger, '"synchronous = EXTRA"', '"synchronous = OFF"', _outlives("device")),
        Plant("ledger-full", ledger, '"synchronous = EXTRA"', '"synchronous = FULL"', _outlives("device")),
        Plant("sealed-off", ledger, '"synchronous = EXTRA"', '"synchronous = OFF"', _outlives("sealed")),
        Plant("collector-off", collector, '"synchronous = FULL"', '"synchronous = OFF"', _outlives("collector")),
        Plant("collector-normal", collector, '"synchronous = FULL"', '"synchronous = NORMAL"', _outlives("collector")),
        Plant("shuffler-off", store, '"synchronous = FULL"', '"synchronous = OFF"', _outlives("shuffler")),
        Plant("shuffler-normal", store, '"synchronous = FULL"', '"synchronous = NORMAL"',
              (f"{POWER}::test_the_shuffler_waits_for_the_disk",)),
        Plant("postgres-commit-off", "src/sottovoce/collector/postgres.py", "synchronous_commit = on",
              "synchronous_commit = off", (f"{POWER}::test_the_collector_waits_for_the_disk",)),
    ]  # fmt: skip


def _unsynced_files() -> list[Plant]:
    file, folder = "    sync_file(part)\n", "    sync_folder(path.parent)\n"
    durable, replace = "src/sottovoce/core/durable.py", "    os.replace(part, path)\n"
    linked = "    finally:\n        part.unlink()\n"
    return [
        Plant("running-tally-unsynced", durable, file + replace, replace, _outlives("running")),
        Plant("running-tally-unnamed", durable, replace + folder, replace, _outlives("running")),
        Plant("output-unsynced", durable, file + replace, replace, _outlives("published")),
        Plant("key-unsynced", durable, f"    {file}        os.link", "        os.link", _outlives("key")),
        Plant("key-unnamed", durable, linked + folder, linked, _outlives("key")),
        Plant("folder-unnamed", durable, f"exist_ok=True)\n{folder}", "exist_ok=True)\n", _outlives("collector")),
    ]


def _counting() -> list[Plant]:
    spark = "src/sottovoce/data/spark.py"
    return [
        Plant("spark-last-batch", spark, "            kinds = batch.schema\n",
              "            kinds, found = batch.schema, {}\n", (COUNTS,)),
        Plant("spark-first-part-cells", spark, "in table.column(CELLS))", "in table.column(CELLS)[:1])", (COUNTS,)),
        Plant("spark-first-part-n", spark, "sum(table.column(N).to_pylist())", "table.column(N).to_pylist()[0]",
              (COUNTS,)),
    ]  # fmt: skip


def _limits() -> list[Plant]:
    checks, tests = "src/sottovoce/survey/checks.py", ("tests/whole/test_limits.py",)
    return [
        Plant("survey-id-65", checks, "[a-z0-9-]{1,64}", "[a-z0-9-]{1,65}", tests),
        Plant("question-id-63", checks, "[a-z][a-z0-9_-]{0,63}", "[a-z][a-z0-9_-]{0,62}", tests),
        Plant("units-one-more", "src/sottovoce/device/accounting.py", "MAX_UNITS = 10_000", "MAX_UNITS = 10_001",
              tests),
        Plant("units-at-the-limit", "src/sottovoce/device/accounting.py", "if len(costs) <= MAX_UNITS",
              "if len(costs) < MAX_UNITS", tests),
    ]  # fmt: skip


def _accounting() -> list[Plant]:
    mixing, tests = "src/sottovoce/survey/shuffle_guarantee.py", ("tests/survey/test_shuffle_guarantee.py",)
    return [
        Plant("shuffled-delta-not-split", mixing, "shuffle_upper(target, n, share)", "shuffle_upper(target, n, delta)",
              tests),
        Plant("permanent-answers-amplified", mixing, "survey.waves > 1 and any(", "survey.waves > 1 and all(", tests),
        Plant("rounds-ignored", mixing, "n, delta, rounds=waves)", "n, delta, rounds=1)", tests),
        Plant("slip-ignored", "src/sottovoce/trust/shuffle/rounds.py", "delta - rounds * SLIP_PER_ROUND", "delta",
              (f"{BOUNDARIES}::test_the_slip_of_a_composition_is_taken_from_delta",)),
        Plant("release-below-minimum", "src/sottovoce/shuffler/store.py", "if len(tags) < self.minimum:",
              "if len(tags) < self.minimum - 1:",
              (f"{BOUNDARIES}::test_a_batch_is_released_at_the_minimum_and_not_one_below",)),
        Plant("estimate-below-minimum", "src/sottovoce/survey/minimum.py", "if tally.n < minimum:",
              "if tally.n < minimum - 1:",
              (f"{BOUNDARIES}::test_an_estimate_is_released_at_the_minimum_and_not_one_below",)),
        Plant("batch-of-any-survey", "src/sottovoce/device/envelope.py", "sottovoce {purpose} {survey.digest}",
              "sottovoce {purpose}", (f"{BOUNDARIES}::test_the_code_of_a_batch_is_bound_to_its_survey",)),
        Plant("group-merged-twice", "src/sottovoce/statistics/group_comparison.py", "        total.merge(tally)\n",
              "        total.merge(tally).merge(tally)\n",
              (f"{BOUNDARIES}::test_each_group_is_compared_with_each_other_one_once",)),
        Plant("changes-one-wave-off", "src/sottovoce/mechanisms/longitudinal/changes.py",
              'wave >> memory["order"] > over', 'wave - 1 >> memory["order"] > over',
              (f"{BOUNDARIES}::test_changes_catch_up_with_the_wave",)),
        Plant("residues-by-modulo", "src/sottovoce/trust/federated/sharing.py",
              "        shift = np.uint64(64 - self.modulus.bit_length())\n",
              "        return stream.words(count) % np.uint64(self.modulus)\n        shift = np.uint64(0)\n",
              (f"{BOUNDARIES}::test_residues_are_drawn_again_and_not_reduced",)),
    ]  # fmt: skip


def _services() -> list[Plant]:
    headers, secrets = ("tests/collector/test_headers.py",), ("tests/collector/test_secrets_compared.py",)
    pages = "src/sottovoce/pages/__init__.py"
    return [
        Plant("pages-in-frames", pages, "frame-ancestors 'none'; ", "", headers),
        Plant("forms-go-anywhere", pages, "form-action 'none'; ", "", headers),
        Plant("reference-in-frames", "src/sottovoce/collector/openapi.py", "; frame-ancestors 'none'", "", headers),
        Plant("rate-limit-off", "src/sottovoce/web/application.py", '"rate": 100.0,', '"rate": None,',
              ("tests/web/test_proxies.py",)),
        Plant("tokens-compared-early", "src/sottovoce/collector/tokens.py",
              'hmac.compare_digest(known["hash"], digest)', 'known["hash"] == digest', secrets),
        Plant("codes-compared-early", "src/sottovoce/device/envelope.py",
              "not hmac.compare_digest(bytes(self._rest), self._code.digest())",
              "self._rest != self._code.digest()", secrets),
    ]  # fmt: skip


PLANTS: tuple[Plant, ...] = (
    *_unsynced(), *_unsynced_files(), *_counting(), *_limits(), *_accounting(), *_services(),
)  # fmt: skip

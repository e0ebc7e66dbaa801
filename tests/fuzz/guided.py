"""Coverage-guided fuzzing of every reader with atheris, from the seeds of ``fuzz_readers``.

``python -m tests.fuzz.guided -max_total_time=600``: the arguments are libFuzzer's. A process of its
own, as libFuzzer ends the one that it runs in; exit status 0 when nothing was found. What breaks a
reader is printed, and left as a file ``target-health-fuzz-crash-…`` among the machine's temporary
files, or where ``-artifact_prefix=DIR/`` says.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import atheris

with atheris.instrument_imports(include=["target_health.readers", "target_health.landing"]):
    from tests.fuzz.fuzz_readers import MORE_SEEDS, SEEDS, Checker

FORMATS = [None, *SEEDS]


def main(arguments: list[str]) -> None:
    directory = TemporaryDirectory()
    checker = Checker(Path(directory.name))

    def one(data: bytes) -> None:
        if data:
            checker.check(data[1:], FORMATS[data[0] % len(FORMATS)])

    corpus = Path(directory.name) / "corpus"
    corpus.mkdir()
    for place, seed in enumerate(SEEDS.values(), start=1):
        (corpus / f"told-{place}").write_bytes(bytes([place]) + seed)
        (corpus / f"recognised-{place}").write_bytes(b"\0" + seed)
    for place, seed in enumerate(MORE_SEEDS):
        (corpus / f"more-{place}").write_bytes(b"\0" + seed)
    left = f"-artifact_prefix={gettempdir()}/target-health-fuzz-"
    atheris.Setup([sys.argv[0], "-max_len=16384", left, *arguments, str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])

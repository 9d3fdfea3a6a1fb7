"""The shared cases on the engine: what can be expressed passes there too."""

import pytest

from tests.engine.differential.run import detect
from tests.oracle.run import detecting_by

from .cases import load
from .runner import Verdict, run
from .test_vectors import SHARED


def test_what_can_be_expressed_passes_on_the_engine() -> None:
    if not SHARED.is_dir():
        pytest.skip(f"there are no cases in {SHARED}: name a folder in VECTORS")
    with detecting_by(detect):
        outcomes = [run(case) for case in load(SHARED)]
    failed = {o.case.id: o.detail for o in outcomes if o.verdict is Verdict.FAILED}
    assert not failed, failed

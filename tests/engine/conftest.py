import pytest

from tests.engine.cohorts import MODULES, Cohort


@pytest.fixture(params=MODULES)
def module(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def cohort() -> Cohort:
    return Cohort((1, 9, 10, 11, 3, 57, 24, 130, 24))

"""What tests share."""

import pytest

from codegym.sandbox import make_sandbox


@pytest.fixture(scope="session")
def local():
    """The default sandbox, warm for the whole run."""
    with make_sandbox("local", workers=2) as sandbox:
        yield sandbox

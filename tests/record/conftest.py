"""The federation that these tests run on."""

from tests.blobs import blobs  # noqa: F401  (a fixture)

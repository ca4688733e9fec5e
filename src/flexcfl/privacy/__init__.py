"""Differential privacy of updates: clipping, Gaussian noise, and what they add up to."""

from flexcfl.privacy.accounting import epsilon
from flexcfl.privacy.discretion import Discretion
from flexcfl.privacy.mechanism import PrivateMean
from flexcfl.privacy.options import Privacy

__all__ = ["Discretion", "Privacy", "PrivateMean", "epsilon"]

"""Differential privacy of updates: clipping, Gaussian noise, and what they add up to."""

from flexcfl.trust.privacy.accounting import epsilon
from flexcfl.trust.privacy.discretion import Discretion
from flexcfl.trust.privacy.mechanism import PrivateMean
from flexcfl.trust.privacy.options import Privacy

__all__ = ["Discretion", "Privacy", "PrivateMean", "epsilon"]

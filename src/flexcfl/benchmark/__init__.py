"""How fast cohorts are trained, beside the plain PyTorch loop and what the machine can do."""

from flexcfl.benchmark.machine import machine
from flexcfl.benchmark.measure import StepTimes, alternate, measure, sgemm_rate
from flexcfl.benchmark.work import WORKS, Workload

__all__ = ["WORKS", "StepTimes", "Workload", "alternate", "machine", "measure", "sgemm_rate"]

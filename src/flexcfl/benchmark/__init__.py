"""How fast cohorts are trained, compared with a plain PyTorch loop and the machine's limit."""

from flexcfl.benchmark.machine import machine
from flexcfl.benchmark.measure import StepTimes, alternate, measure, sgemm_rate
from flexcfl.benchmark.work import WORKS, Workload

__all__ = ["WORKS", "StepTimes", "Workload", "alternate", "machine", "measure", "sgemm_rate"]

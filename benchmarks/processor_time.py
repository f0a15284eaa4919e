"""Processor time of processes: on a busy machine it tells more than durations do."""

import psutil


def processor_s(process: psutil.Process) -> float:
    """Processor time of a process so far; 0 if it has ended."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)

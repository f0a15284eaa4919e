"""Processor time of processes: on a busy machine it tells more than durations do."""

import psutil

from purser.budget.postgres.connections.pools import Pool


def processor_s(process: psutil.Process) -> float:
    """Processor time of a process so far; 0 if it has ended."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def family_s(process: psutil.Process) -> float:
    """Processor time so far of a process and of all its children, those that have ended included."""
    times = process.cpu_times()
    ended = float(times.children_user + times.children_system)
    return processor_s(process) + ended + sum(map(processor_s, process.children()))


async def processor_times(pool: Pool) -> dict[int, float]:
    """Seconds of processor time of this process and of the backends of the database, by process id."""
    found = await pool.fetch("select pid from pg_stat_activity where datname = current_database()")
    processes = [psutil.Process(), *(psutil.Process(row["pid"]) for row in found)]
    return {process.pid: processor_s(process) for process in processes}

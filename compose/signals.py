"""Signals that ask a process to stop."""

import signal


def stop_signals() -> tuple[signal.Signals, ...]:
    """Those of ctrl-C and of supervisors, and that of a closed terminal, unless `nohup` has the process ignore it."""
    hung_up = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)
    return (signal.SIGINT, signal.SIGTERM, *hung_up)

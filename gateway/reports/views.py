"""Lines of reports, from what the ledger returns: entries and usage."""

from purser.budget.reports.entries import Entry, Figures
from purser.budget.reports.usage import UsageLine
from purser.wire.reports import ClassesView, EntryView, FiguresView, MovedView, OverrunView, PresumedView, UsageLineView


def entry_view(entry: Entry) -> EntryView:
    """One entry of the ledger."""
    plain = {name: getattr(entry, name) for name in EntryView.model_fields}
    return EntryView(
        **plain
        | {
            "entry_id": str(entry.entry_id),
            "scope": str(entry.scope),
            "moved": _figures_view(entry.moved),
            "after": _figures_view(entry.after),
            "path": list(entry.path),
        }
    )


def usage_line_view(line: UsageLine) -> UsageLineView:
    """Charges of one tenant, user, session, task, agent, model or day."""
    return UsageLineView(
        id=line.id,
        tokens=ClassesView(**line.tokens),
        charged_tokens=line.charged.tokens,
        nano_usd=line.charged.nano_usd,
        attempts=line.attempts,
        unpriced_attempts=line.unpriced_attempts,
        presumed=PresumedView(
            attempts=line.presumed_attempts, tokens=line.presumed.tokens, nano_usd=line.presumed.nano_usd
        ),
        overrun=OverrunView(tokens=line.overrun.tokens, nano_usd=line.overrun.nano_usd),
    )


def _figures_view(figures: Figures) -> FiguresView:
    parts = {name: getattr(figures, name) for name in MovedView.model_fields}
    units = ("tokens", "nano_usd")
    return FiguresView(
        **{unit: MovedView(**{name: getattr(part, unit) for name, part in parts.items()}) for unit in units}
    )

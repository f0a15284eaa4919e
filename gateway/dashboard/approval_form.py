"""The form of a decision: what it suggests, what it makes of what was typed, and when it asks once more."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from markupsafe import Markup

from budget.approvals import ApprovalRequest, ApprovalState, Choice
from budget.decisions import Amount
from budget.money import typed_dollars
from budget.previews import Effect
from gateway.approval_outlook import Outlook
from gateway.dashboard import amounts
from gateway.dashboard.act import Refused
from gateway.dashboard.approval_views import barred, outcome
from gateway.dashboard.markup import NOTHING, amount, exact, join, percent, plural, scope_name
from gateway.dashboard.region import Act
from gateway.dashboard.work_words import lasting
from gateway.roles import Principal
from gateway.schemas import DecisionBody

_ENDS = (
    ("", "the window ends"),
    ("30", "30 minutes from now"),
    ("60", "1 hour from now"),
    ("240", "4 hours from now"),
    ("1440", "24 hours from now"),
    ("at", "a time …"),
)


@dataclass(frozen=True, slots=True)
class Draft:
    """One decision, made once however often its button is pressed."""

    choice: Choice
    amount: Amount = field(default_factory=Amount)
    until: datetime | None = None
    note: str | None = None
    decision_id: str = field(default_factory=lambda: f"page-{uuid.uuid4()}")

    def body(self) -> DecisionBody:
        """As the API takes it."""
        return DecisionBody(
            decision_id=self.decision_id,
            decision=self.choice,
            grant_tokens=self.amount.tokens or None,
            grant_nano_usd=self.amount.nano_usd or None,
            until=self.until and self.until.isoformat(),  # type: ignore[arg-type]
            note=self.note,
        )


def read(act: Act, choice: Choice, now: datetime) -> Draft:
    """What a person typed.

    Raises:
        Refused: it is no amount, or no time to come.
    """
    note = act.fields.get("note", "").replace("\r\n", "\n").strip() or None
    if choice is Choice.DENY:
        return Draft(choice, note=note)
    tokens = amounts.count(act.fields.get("tokens", ""), "Tokens")
    nano = amounts.nano_usd(act.fields.get("dollars", ""), "Dollars")
    if not tokens and not nano:
        raise Refused("Name an amount to grant, or deny.")
    until = amounts.end(act.fields.get("until", ""), act.fields.get("at", ""), now)
    return Draft(choice, Amount(tokens or 0, nano or 0), until, note)


def is_large(ahead: Outlook, given: Amount) -> bool:
    """Whether a grant is more than is offered and more than the limit itself: a slip of a finger, perhaps."""
    request, offered = ahead.request, ahead.without_delay
    return given.tokens > max(offered.tokens, request.limit_tokens or 0) or given.nano_usd > max(
        offered.nano_usd, request.limit_nano_usd or 0
    )


def previewed(ahead: Outlook, fields: Mapping[str, str]) -> Effect | None:
    """What the amount in the form would do; `None` while it is no amount.

    Args:
        ahead: the request.
        fields: as typed; empty before anybody typed.
    """
    if not fields:
        return ahead.effect(ahead.suggested)
    try:
        draft = read(Act("preview", fields={**fields, "until": ""}), Choice.APPROVE, datetime.now(UTC))
    except Refused:
        return None
    return ahead.effect(draft.amount)


def form(
    ahead: Outlook, caller: Principal, armed: Draft | None, problem: str, effect: Effect | None, now: datetime
) -> Markup:
    """The form under a request, or what became of it.

    Args:
        ahead: the request as it stands.
        caller: who looks.
        armed: a decision that waits for one more click.
        problem: why the last try was not done.
        effect: what the amount in the form would do, if it is one.
        now: this moment.
    """
    request = ahead.request
    if request.state is not ApprovalState.PENDING:
        return outcome(request, caller)
    bar_to_all = barred(request, caller, now)
    bar_to_approval = bar_to_all or barred(request, caller, now, Choice.APPROVE)
    parts = [_people(request)]
    if problem:
        parts.append(Markup('<p class="problem" role="alert">{}</p>').format(problem))
    if bar_to_approval:
        parts.append(Markup('<p class="reason" id="why-not">{}</p>').format(bar_to_approval))
    if not bar_to_all:
        parts.append(_fields(ahead))
    # One of the two: pressing Enter in a field sends the form by the first button that it finds.
    parts.append(_buttons(bar_to_all, bar_to_approval) if armed is None else _question(ahead, armed))
    if not bar_to_approval:
        parts.append(effect_line(effect))
    return Markup(
        '<form class="decide" data-act="approve" data-live="preview" data-typing data-id="{}" '
        'autocomplete="off">{}</form>'
    ).format(request.approval_id, join(parts))


def _people(request: ApprovalRequest) -> Markup:
    if not request.needs_two(request.shortage):
        return NOTHING
    agreed = [past.approver for past in request.agreed]
    told = f"{agreed[0]} has approved; another person is needed" if agreed else "nobody has approved yet"
    return Markup('<p class="people"><b>{} of 2 approvals.</b> Granting this much takes two people: {}.</p>').format(
        len(agreed), told
    )


def _fields(ahead: Outlook) -> Markup:
    request, offered = ahead.request, ahead.suggested
    shown = []
    if request.limit_tokens is not None or offered.tokens:
        suggested = exact(offered.tokens) if offered.tokens else ""
        shown.append(
            Markup(
                '<div><label for="tokens">Tokens to grant</label><input id="tokens" name="tokens" inputmode="numeric" '
                'value="{}" placeholder="none"></div>'
            ).format(suggested)
        )
    if request.limit_nano_usd is not None or offered.nano_usd:
        suggested = typed_dollars(offered.nano_usd) if offered.nano_usd else ""
        shown.append(
            Markup(
                '<div><label for="dollars">Dollars to grant</label><input id="dollars" name="dollars" '
                'inputmode="decimal" value="{}" placeholder="none"></div>'
            ).format(suggested)
        )
    choices = join(Markup('<option value="{}">{}</option>').format(value, label) for value, label in _ENDS)
    shown.append(
        Markup(
            '<div class="until"><label for="until">Until</label><select id="until" name="until">{}</select>'
            '<input type="datetime-local" name="at" aria-label="Day and time"></div>'
        ).format(choices)
    )
    note = Markup(
        '<div class="note"><label for="note">Note, for the record</label>'
        '<textarea id="note" name="note" rows="2" maxlength="2000"></textarea></div>'
    )
    return Markup('<div class="inputs">{}</div>{}{}').format(join(shown), _chips(ahead), note)


def _chips(ahead: Outlook) -> Markup:
    """Amounts to choose from with a click."""
    short, easy = ahead.request.shortage, ahead.without_delay
    if short == easy:
        return NOTHING
    return Markup('<div class="chips" role="group" aria-label="Amounts">{}{}</div>').format(
        _chip(ahead.request, short, "Exact shortage"), _chip(ahead.request, easy, "Without delay")
    )


def _chip(request: ApprovalRequest, offered: Amount, label: str) -> Markup:
    fields = {}
    if request.limit_tokens is not None or offered.tokens:
        fields["tokens"] = exact(offered.tokens) if offered.tokens else ""
    if request.limit_nano_usd is not None or offered.nano_usd:
        fields["dollars"] = typed_dollars(offered.nano_usd) if offered.nano_usd else ""
    return Markup('<button type="button" class="chip" data-act="fill" data-fields="{}">{}: {}</button>').format(
        json.dumps(fields), label, amount(offered)
    )


def effect_line(effect: Effect | None) -> Markup:
    """What a grant would do, in a sentence."""
    if effect is None:
        return Markup('<p class="effect muted" role="status">The amount cannot be read yet.</p>')
    parts = []
    if effect.ratio is not None:
        parts.append(Markup('<b class="num">{}</b> of the limit used').format(percent(effect.ratio)))
    if effect.admitted and effect.slowed_by is not None:
        slow = Markup('slowed by <b class="num">{}</b> by {}')
        parts.append(slow.format(lasting(effect.delay_ms / 1_000), scope_name(effect.slowed_by)))
    elif effect.admitted:
        parts.append(Markup("no delay"))
    for count, one, many in (
        (effect.asking, "asks again", "ask again"),
        (effect.waiting, "waits for open holds", "wait for open holds"),
        (effect.refused, "is refused", "are refused"),
    ):
        if count:
            parts.append(Markup("<b>{} {} {}</b>").format(count, plural(count, "call"), plural(count, one, many)))
    return Markup('<p class="effect" role="status">After this grant: {}.</p>').format(join(parts, "; "))


def _buttons(bar_to_all: str, bar_to_approval: str) -> Markup:
    def button(act: str, css: str, label: str, barred: str) -> Markup:
        off = Markup(' disabled aria-describedby="why-not" title="{}"').format(barred) if barred else NOTHING
        return Markup('<button type="submit" class="btn {}" data-act="{}"{}>{}</button>').format(css, act, off, label)

    approve = button("approve", "main-act", "Approve", bar_to_approval)
    deny = button("deny", "danger", "Deny …", bar_to_all)
    return Markup('<div class="buttons">{}{}</div>').format(approve, deny)


def _question(ahead: Outlook, armed: Draft) -> Markup:
    """One more look, where it costs a lot or cannot be taken back."""
    request = ahead.request
    if armed.choice is Choice.DENY:
        calls = len(request.waiters)
        text = Markup("Deny? {} {} refused; that cannot be taken back.").format(
            f"{calls} {plural(calls, 'call')}", plural(calls, "is", "are")
        )
        yes = "Yes, deny"
    else:
        text, yes = Markup("Grant {}?").format(amount(armed.amount)), "Yes, approve"
        if is_large(ahead, armed.amount):
            text += Markup(" That is more than the limit itself.")
    return Markup(
        '<div class="question" role="group" aria-label="Are you sure?"><p>{}</p>'
        '<button type="submit" id="confirm" class="btn {}" data-act="confirm">{}</button>'
        '<button type="button" class="btn" data-act="back">Back</button></div>'
    ).format(text, "danger" if armed.choice is Choice.DENY else "main-act", yes)

"""German."""

from purser.context.facts.languages.english import MONTH
from purser.context.facts.languages.language import CLAUSE, STOP, Language, started
from purser.context.facts.values import ALLERGY, DIET, Kind

_DAY = r"(?:Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonnabend|Sonntag)"
_MONTH = r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)"
_HOUR = r"(?:eins?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf)"
_COUNT = r"(?:zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|\d+(?:[.,]\d+)*)"
_START = started("bis", "zwischen|und")
_NO_NOUN = (
    r"(?:Uhr|Euro|Dollar|Franken|Mal|Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober"
    r"|November|Dezember)\b"
)
_WORD = r"(?!(?:mein\w*|dein\w*|ist|sind|dass|ich|wir|und|aber|wenn|nicht|das)\b)[\w-]+"
_END = (
    r"(?= (?:weil|aber|wenn|während|da|jetzt|statt)\b| und (?:(?:ich|bin|habe|mein|meine|wir|er|sie|es"
    rf"|auch|hasse|mag|bitte|das|der|die)\b)|{STOP})"
)
_DENIED = r"(?:(?:auch|jetzt|nun|inzwischen|gar|überhaupt|leider|stark|sehr|doch|nicht|mehr|keine?n?) )*"
_OBJECT = rf"({CLAUSE}{{2,}}?)(?: (?:gar|überhaupt|leider|so|nicht|mehr))*{_END}"
_TO = (
    r"(?:\s*\b(?:um|am|auf|an|den|die|der|das|dem|im|in|für|bei|zu|zur|zum|nach|vor|ab|bis|vom|erst|nur|es|sind|ist|doch|lieber"
    r"|besser)\b)*[\s,:]*"
)
_NAME = (
    r"(?:^|(?<=[,;:] )|(?<=\bund )|(?<=\baber )|(?<=\bdass )|(?<=\bdenn )|(?<=\bweil ))(?-i:(?!(?:Ich|Er|Sie|Es|Wir|Ihr"
    r"|Man|Du|Der|Die|Das|Den|Ein|Eine|Mein\w*|Dein\w*|Sein\w*|Ihre?|Unser\w*|Kein\w*|Dies\w*|Wer|Was|Wenn|Weil|Da"
    r"|Dann|Hier|Niemand|Jemand|Jeder|Alle|Alles|Und|Aber)\b)[A-ZÄÖÜ][a-zäöüß-]+(?: [A-ZÄÖÜ][a-zäöüß-]+)?)"
)
_WHO = rf"(?:\b(?:mein|unser)e?r? (?P<of>{_WORD}(?: {_WORD})?)|(?P<who>{_NAME}))"
_IS = rf"(?:\b(?:ich )?bin(?: ich)?|\bwir sind|\bsind wir|{_WHO} (?:ist|sind))"
_HAS = rf"(?:\b(?:ich )?habe(?: ich)?|\bwir haben|\bhaben wir|{_WHO} (?:hat|haben))"
_NAMED = r"(?-i:[A-ZÄÖÜ][\w-]+(?: [A-ZÄÖÜ][\w-]+)?)"
_VERB = (
    r"(?:ist|sind|war|waren|liegt|liegen|beträgt|kostet|geht|fährt|fliegt|beginnt|startet|endet|kommt|landet|findet"
    r"|wird|lautet|heißt|öffnet|schließt)"
)
_FILLED = r"(?: (?:jetzt|nun|am|um|bei|auf|für|in|der|an|erst|statt|ab|nur|etwa))*\s*"
_GENITIVE = r"(?-i:(?!(?:Das|Dies|Es|Was|Etwas|Alles|Als|Bis|Aus|Jedes|Jenes)\b)[A-ZÄÖÜ][a-zäöüß]+['’]?s)"
_INTERJECTION = r"(?:^|[,;.] ?)(?:(?:nein|sorry|entschuldigung|moment|warte|halt|eigentlich|ach|quatsch|äh)[\s,.:]+)+"
_POLITE = r"(?:(?:bitte|nein|doch|ach|also|ok|okay|gut|dann|eigentlich)\b[\s,.]*)*"
_WHOSE = rf"(?:(?:den|die|das|der|mein\w*|unser\w*)|(?P<whose>{_GENITIVE})) "
_WHOSE_2, _WHOSE_3 = (_WHOSE.replace("whose", f"whose_{number}") for number in (2, 3))
_CLAUSE_END = r"(?=\s*(?:[.,;!]|$))"
_MARKERS = """
    ich nicht und ist der das ein eine einen wir mein meine meinen für mit auf um uhr bitte auch aber lieber doch nein
    statt morgen gestern heute sondern mach haben sind den dem die zu im bin habe mag unser sich es von vom kostet wird
    bis beim nach uns dann jetzt nur noch kein keine hallo danke montag dienstag mittwoch donnerstag freitag samstag
    sonntag
"""

GERMAN = Language(
    capitalizes_nouns=True,
    genitive=r"['’]?s$",
    markers=frozenset(_MARKERS.split()),
    values={
        Kind.DATE: (
            rf"\b(?:{_DAY},? (?:den |dem )?)?(?:\d{{1,2}}\. ?(?:[-–]|bis(?: zum)?|und) ?)?"
            rf"\d{{1,2}}\. ?{_MONTH}(?: \d{{4}})?\b"
            rf"(?:,? (?:der |ein(?:em)? )?{_DAY}\b(?!,? (?:de[nmr] )?\d)| \({_DAY}\))?|\b{_MONTH} \d{{4}}\b"
            r"|(?<![\w.])(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:\d{4}|\d\d)?(?!\d)"
            rf"|\b(?:vorgestern|gestern|übermorgen)\b|(?-i:\bmorgen\b)(?! früh aufstehen)"
            rf"|\b(?:letzte[nrsm]?|nächste[nrsm]?|vorige[nrsm]?|kommende[nrsm]?) (?:{_DAY}|Woche|Monat|Jahr|Sommer"
            rf"|Winter)\b|\b{_DAY}\b"
            rf"|\bvor (?:einer|einem|{_COUNT}) (?:Tag(?:en)?|Wochen?|Monat(?:en)?|Jahr(?:en)?)\b"
            rf"|(?<=\bim ){_MONTH}\b|(?<=\bbis ){_MONTH}\b"
        ),
        Kind.TIME: (
            rf"{_START}\b(?:\d{{1,2}}(?:[:.]\d\d)?|{_HOUR}) ?Uhr(?: \d\d\b)?(?: (?:morgens|mittags|nachmittags|abends"
            rf"|nachts|früh))?"
            rf"|\b(?:halb|Viertel (?:vor|nach)|viertel) (?:{_HOUR}|\d{{1,2}})\b|(?<=\bum )(?:\d{{1,2}}"
            rf"|{_HOUR})\b(?![.,:]?\d|\s?(?:%|€|Euro|Prozent|Grad|Minuten|Stunden))|\bMitternacht\b"
        ),
        Kind.MONEY: (
            rf"{_START}\b\d(?:[\d.,]*\d)?\s?(?:(?:Tausend|Mio|Mrd|Million(?:en)?|Milliarden?) )?"
            r"(?:€|\$|£|Euro\b|Dollar\b|Franken\b|CHF\b|Cent\b)"
        ),
        Kind.ADDRESS: r"(?-i:\b(?:[A-ZÄÖÜ][\wäöüß-]*(?: [A-ZÄÖÜ][\wäöüß-]*)? ?(?:[Ss]traße|[Ss]trasse|[Ss]tr\."
        r"|[Ww]eg|[Pp]latz|[Aa]llee|[Gg]asse|ufer|damm))) \d{1,4} ?(?-i:[a-z]\b)?",
        Kind.NUMBER: (
            rf"{started('bis', 'zwischen|und', _COUNT)}\b{_COUNT} (?!{_NO_NOUN}|{MONTH}\b)"
            r"(?-i:[A-ZÄÖÜ][a-zäöüß]{2,})\b"
        ),
        Kind.NAME: rf"(?:(?<=heiße )|(?<=heißt )|(?<=Herr )|(?<=Herrn )|(?<=Frau )|(?<=Name ist )"
        rf"|(?<=\bwohne in )|(?<=\bwohnt in )|(?<=\blebe in )|(?<=ziehe nach )){_NAMED}"
        rf"|(?<=\bnach ){_NAMED}(?= (?:um)?gezogen\b)"
        # An inner capital, as of PostgreSQL, is no noun's.
        r"|(?-i:\b(?!GmbH\b|\w+In(?:nen)?\b)[A-ZÄÖÜ]?[a-zäöüß]+[A-Z]\w*)",
    },
    owned=(
        rf"\b(?P<whose>mein(?:e[nrm]?)?|unser(?:e[nrm]?)?|dein(?:e[nrm]?)?|Ihr(?:e[nrm]?)?|der|die|das|den"
        rf"|sein(?:e[nrm]?)?) (?P<noun>(?:{_WORD} ){{0,3}}?{_WORD})"
        rf" (?P<verb>{_VERB})\b{_FILLED}"
        rf"|\b(?P<whose_3>{_GENITIVE}) (?P<noun_3>(?-i:[A-ZÄÖÜ])[\w-]+) (?P<verb_3>{_VERB})\b{_FILLED}"
        rf"|\b(?:verschieb|verleg|änder|setz|leg|erhöh|senk|stell|mach)\w* (?:bitte )?(?P<whose_2>den|die|das"
        rf"|mein\w*|unser\w*|{_GENITIVE}) (?P<noun_2>(?:{_WORD} ){{0,3}}?{_WORD}) (?P<verb_2>auf|um|zu)"
        r"(?: (?:den|die))?\s*"
        r"|\bich (?P<does>wohne|heiße|arbeite|lebe|ziehe|bin(?= nach\b))(?: (?:jetzt|in der|in|bei|als|am|nach))*\s*"
    ),
    selves=frozenset(
        ["mein", "meine", "meinen", "meiner", "meinem", "unser", "unsere", "unseren", "unserer", "unserem"]
    ),
    others=frozenset(["dein", "deine", "deinen", "deiner", "deinem"]),
    articles=frozenset({"der", "die", "das", "den"}),
    past=frozenset({"war", "waren"}),
    relations={
        **dict.fromkeys(("kommt", "landet"), "arrives"),
        **dict.fromkeys(("endet", "schließt"), "ends"),
        **dict.fromkeys(("wohne", "lebe", "ziehe", "bin"), "home"),
        "heiße": "name",
        "arbeite": "work",
        "heißt": "name",
    },
    statements={
        Kind.PREFERENCE: (
            (
                "",
                rf"\bich (?:mag|liebe|hasse|bevorzuge|verabscheue|esse gerne?|trinke gerne?) (?!das\b|es\b|dich\b"
                rf"|sie\b|ihn\b)(?:(?:sehr|gerne?|am liebsten|lieber|überhaupt|wirklich|jetzt|nicht|keine?n?) )*"
                rf"(?!das[.,!]|es\b){_OBJECT}",
            ),
            ("", rf"\bich (?:esse|trinke|fliege|sitze) (?:lieber|keine?n?|nie) {_OBJECT}"),
            (ALLERGY, rf"{_IS} {_DENIED}allergisch (?:gegen|auf) {_OBJECT}"),
            (ALLERGY, rf"(?:{_IS}|\bich|\bwir) {_DENIED}gegen ([\w-]+) {_DENIED}allergisch\b"),
            (ALLERGY, rf"{_HAS} {_DENIED}(?:eine )?(?:\w+ )?Allergie (?:gegen|auf) {_OBJECT}"),
            (ALLERGY, rf"{_HAS} {_DENIED}(?:eine )?(?:\w+ )?([\w-]{{2,}}?)-?allergie\b"),
            (
                DIET,
                rf"{_IS} {_DENIED}(?:kein |seit \w+ )?(Veganer(?:in)?(?:nen)?"
                r"|Vegetarier(?:in)?(?:nen)?|vegan|vegetarisch)\b(?: mehr\b)?",
            ),
            ("", rf"{_IS} {_DENIED}(?:kein )?(\w+intolerant|Diabetiker(?:in)?)\b"),
            ("", rf"{_HAS} {_DENIED}(?:eine )?(Zöliakie|Diabetes|\w+intoleranz|\w+unverträglichkeit)\b"),
        ),
        Kind.NEGATION: (
            (
                "rules out",
                rf"(?:^|(?<=[,;:] )|(?<=\bund ))(?:bitte )?(?!mach|sorge?n?)\w+(?:e"
                rf"|en Sie)? (?:{CLAUSE}{{0,40}} )?(?:niemals|keinesfalls|auf keinen Fall)\b{CLAUSE}*",
            ),
            ("rules out", rf"\bbitte (?:{CLAUSE}{{0,40}} )?(?:nicht|keine?n?)\b{CLAUSE}+"),
            (
                "rules out",
                rf"(?:^|(?<=[,;:] ))(?:Lösche?|Ändere|Berühre|Buche|Schicke?|Benutze|Verwende|Fasse?"
                rf"|Rufe?|Sende|Kaufe?|Nimm|Öffne) (?:{CLAUSE}{{0,40}} )?(?:nicht|nie|keine?n?)\b{CLAUSE}*",
            ),
            (
                "rules out",
                rf"(?:\bich vertrage|\bwir (?:essen|trinken|vertragen)|{_WHO} (?:isst|trinkt|verträgt|essen|trinken"
                rf"|vertragen)) (?:\w+ ){{0,2}}?(?:keine?[nr]?|nie|niemals)\b{CLAUSE}+",
            ),
            (
                "rules out",
                rf"(?:\b(?:ich|wir)|{_WHO}) (?:darf|dürfen|kann|können|verträgt|vertrage|vertragen) {CLAUSE}{{0,40}}?"
                rf"\b(?:keine?[nr]?|nicht|nie)\b(?:{CLAUSE}{{0,40}}? (?:essen|trinken|vertragen)|(?<=nicht))\b",
            ),
            ("rules out", rf"\b(?:darf|dürfen|kann|können) (?:{CLAUSE}{{0,20}} )?nicht {CLAUSE}+(?:werden)"),
        ),
        Kind.DECISION: (
            (
                "decides",
                rf"\b(?:wir|ich) (?:haben?|hab) (?:uns |mich )?{CLAUSE}{{1,60}}(?:entschieden"
                r"|beschlossen|geeinigt|gewählt)\b",
            ),
            (
                "decides",
                r"\b(?:wir|ich) (?:haben?|hab) (?:uns |mich )?(?:\w+ ){0,2}?"
                rf"(?:entschieden|beschlossen|geeinigt|vereinbart), {CLAUSE}+",
            ),
            (
                "decides",
                rf"\b(?:wir|ich) (?:nehmen?|nutzen|verwenden|benutzen|buchen|wählen|wechseln?|bleiben?"
                rf"|entscheiden?)\b{CLAUSE}+",
            ),
            ("decides", rf"\b(?:dann |lieber |doch )?(?:nehmen|nutzen|verwenden|buchen|wählen) wir\b{CLAUSE}+"),
            ("decides", rf"\b(?:lass uns|lasst uns) {CLAUSE}+(?:nehmen|nutzen|verwenden|buchen|wählen|benutzen)\b"),
        ),
    },
    replacing=(
        r"\bnicht(?: (?:mehr|am|um|auf|in|der|die|das|den))* (?P<old>[^.,;!?]{1,60}?),? sondern(?: (?:am|um|auf|in"
        r"|erst|der|die|das|den))* (?P<new>[^.,;!?]{1,60})",
        r"\b(?:statt|anstatt|anstelle)(?: (?:von|am|um|des|der))* (?P<old>[^.,;!?]{1,40}?),? (?:lieber|jetzt|nun"
        r"|doch|nehmen wir|nimm) (?P<new>[^.,;!?]{1,60})",
        r"(?P<new>[^.,;!?]{1,60}?)(?: statt| anstatt| anstelle)(?: (?:von|am|um|in|des|der"
        r"|den))* (?P<old>[^.,;!?]{1,60})",
        r"\bvon (?P<old>[^.,;!?]{1,40}?) auf (?P<new>[^.,;!?]{1,40})",
        r"\b(?:ersetze?|tausche?)\w* (?P<old>[^.,;!?]{1,40}?) (?:durch|gegen) (?P<new>[^.,;!?]{1,40})",
    ),
    denying=(
        r"(?P<new>[^.,;!?]{1,60}?)(?:, (?:und )?nicht| und nicht)(?: (?:am|um|in|der|die"
        r"|den))* (?P<old>[^.,;!?]{1,60})",
        r"\bnicht(?: (?:mehr|am|um|auf|in|der|die|das|den))* (?P<old>[^.,;!?]{1,60}?)[,;] (?:es|sie|er|das|die|der)"
        r" (?:ist|sind|liegt|beträgt)(?: (?:jetzt|am|um|auf|bei|in|der|die|das|den))* (?P<new>[^.,;!?]{1,60})",
    ),
    cue=(
        rf"\b(?:lieber|besser)\b{_TO}|\b(?:mach(?:en)?|setz\w*|leg\w*|verschieb\w*|verleg\w*|änder\w*"
        rf"|erhöh\w*|senk\w*|stell\w*)(?: \w+){{0,4}}?"
        rf"\s(?:auf|um|zu|draus)?{_TO}|\bich meinte{_TO}|\b(?:ist|sind|kostet|geht|liegt|beginnt) (?:jetzt|nun"
        rf"|doch)\b{_TO}(?:bei\s)?|\bsollte{_TO}|\bKorrektur:?{_TO}|\b(?:verschoben|verlegt|geändert|erhöht) auf{_TO}"
        rf"|{_INTERJECTION}(?:es ist|es sind|wir treffen uns|ich meine)\s+{_TO}"
    ),
    interjection=rf"(?:{_INTERJECTION}|\bdoch\b){_TO}",
    cue_after=r"^,? (?:draus|daraus|stattdessen|verschoben|verlegt|geändert|gelegt|erhöht|gesenkt|angehoben|verlängert"
    r"|verschieben|verlegen|ändern|legen|erhöhen|senken|anheben|verlängern|doch lieber)\b",
    alternative=r"^(?:(?:nein|doch|lieber|ach|sorry|moment|ok|okay|dann|eigentlich|bitte|also"
    r"|wir)\b[\s,.]*)*(?:nimm|nehmen wir|nehmen|nutze|nutzen wir|nutzen|verwenden wir|verwenden)? ?(?:doch "
    r"|lieber |stattdessen )*(?P<new>[\w+#. -]{2,40}?)(?<! statt)(?: stattdessen)[.!]*$",
    changed=r"\b(?:doch|lieber|stattdessen|statt|umentschieden|wechseln)\b",
    unsure=(
        r"\b(?:wenn|falls|vielleicht|könnten?|hätten?|würden?|fast|beinahe|nicht (?:auf|verschieben|ändern)|ob)\b"
        r"|(?<!\bich )(?<!\bwir )\b(?:will|wollen|möchten?|wünscht|hofft|bittet|fordert|verlangt|empfiehlt|schlägt)\b"
        r"(?! (?:ich|wir)\b)"
    ),
    retracted=(
        rf"^{_POLITE}(?:vergiss|vergessen Sie|streich\w*|stornier\w*|ignorier\w*)(?: Sie)?"
        rf" (?:(?:das|es)(?: wieder)?{_CLAUSE_END}"
        rf"|{_WHOSE}(?P<noun>{_WORD})(?: (?:wieder|weg))?{_CLAUSE_END})"
        rf"|^{_POLITE}sag\w*(?: Sie)? {_WHOSE_2}(?P<noun_2>{_WORD}) ab{_CLAUSE_END}"
        rf"|^{_POLITE}{_WHOSE_3}(?P<noun_3>{_WORD}) (?:(?:fällt|fallen) (?:\w+ )?aus|entfällt|entfallen"
        rf"|(?:ist|sind|wurde|wurden) (?:\w+ )?(?:abgesagt|gestrichen|storniert)|hat sich erledigt){_CLAUSE_END}"
    ),
    farewell=(
        rf"(?:^|(?<=[,.!] )|(?<=also )|(?<=dann )|(?<=danke ))bis (?:morgen|übermorgen|bald|dann|später|gleich"
        rf"|nächste \w+|nächsten {_DAY}|{_DAY}|zum \w+)(?=\s*(?:[.!]|$|,| im| in| früh| abend))"
        rf"|\b(?:wir )?(?:sehen|hören|sprechen|treffen) (?:wir )?uns(?: (?:dann|wieder|also))*(?: (?:morgen"
        rf"|übermorgen|am {_DAY}|nächste Woche))(?=\s*(?:[.!]|$|wieder))"
        r"|\b(?:guten (?:Morgen|Tag|Abend)|gute Nacht|schönes? \w+|frohe?s? \w+)\b[^.!?]*"
    ),
)

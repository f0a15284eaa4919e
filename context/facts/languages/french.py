"""French."""

from purser.context.facts.languages.language import CLAUSE, STOP, Language, started
from purser.context.facts.values import ALLERGY, DIET, Kind

_DAY = r"(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)"
_MONTH = r"(?:janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre)"
_HOUR = r"(?:une|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze)"
_COUNT = r"(?:deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|\d+(?:[.,]\d+)*)"
_START = started("à", "entre|et")
_NO_NOUN = (
    r"(?:de|du|des|et|ou|à|en|le|la|les|que|qui|pour|par|avec|plus|mais|si|ne|pas|est|sont|heures?|euros?|dollars"
    r"|fois|sur|dans"
    r"|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre|plutôt|bis|rue|avenue"
    r"|boulevard|place)\b"
)
_WORD = r"(?!(?:mon|ma|mes|est|sont|que|je|et|mais|si|ne|pas)\b)(?:d['’])?[\w-]+"
_END = (
    r"(?= (?:parce|mais|quand|car|si|depuis|maintenant)\b| et (?:(?:je|j['’]|mon|ma|mes|nous|il|elle|aussi"
    rf"|c['’]|suis)\b|j['’])|{STOP})"
)
_OBJECT = rf"({CLAUSE}{{2,}}?){_END}"
_TO = r"(?:\s*(?:\b(?:à|au|le|la|les|pour|en|de|du|après|avant|dès|est|sera|vers)\b|l['’]))*[\s,:]*"
_NAME = (
    r"(?-i:(?!(?:Je|Tu|Il|Elle|On|Nous|Vous|Ils|Elles|Ce|Ceci|Cela|Ça|Cette|Cet|Le|La|Les|Un|Une|Mon|Ma|Mes|Ton|Ta|Son|Sa"
    r"|Notre|Votre|Leur|Non|Oui|Qui|Que|Si|Et|Mais|Donc|Car|Personne|Tout|Tous|Rien)\b)[A-ZÉÈÀÂÎÔ][\w-]+"
    r"(?: [A-ZÉÈÀÂÎÔ][\w-]+)?)"
)
_WHO = rf"\b(?:(?:mon|ma|mes|notre|nos) (?P<of>{_WORD}(?: {_WORD})?)|(?P<who>{_NAME}))"
_IS = rf"(?:\bje (?:ne )?suis|\bnous (?:ne )?sommes|\bon (?:n['’])?est|{_WHO} (?:est|sont|n['’]est|ne sont))"
_HAS = rf"(?:\bj['’]ai|\bje n['’]ai|\bnous (?:n['’])?avons|\bon (?:n['’])?a|{_WHO} (?:n['’])?(?:a|ont))"
_INTERJECTION = r"(?:^|[,;.] ?)(?:(?:non|pardon|désolée?|attends|attendez|oups|correction)[\s,.:]+)+"
_POLITE = r"(?:(?:non|finalement|bon|alors|ok|en fait|s['’]il (?:te|vous) plaît)\b[\s,.]*)*"
_WHOSE = r"(?:(?:le|la|les|mon|ma|mes|notre|nos) |l['’])"
_NOUN = rf"(?:{_WORD} ){{0,3}}?{_WORD}"
_CLAUSE_END = r"(?=\s*(?:[.,;!]|$))"
_MARKERS = """
    je j le les des est et nous mon ma mes pas une un pour avec demain hier plutôt c non au aux sur qui que ce cette
    suis ne vous il elle dans du la de en l d mais finalement aime préfère réunion vol lundi mardi mercredi jeudi
    vendredi samedi dimanche sont notre oui bonjour merci à coûte allergique jamais s
"""

FRENCH = Language(
    markers=frozenset(_MARKERS.split()),
    values={
        Kind.DATE: (
            rf"\b(?:{_DAY} )?(?:(?:1er|\d{{1,2}})(?: ?[-–] ?| (?:au|et) ))?(?:1er|\d{{1,2}}) {_MONTH}(?: \d{{4}})?\b"
            rf"(?:,? (?:un )?{_DAY}\b(?! \d)| \({_DAY}\))?|\b{_MONTH} \d{{4}}\b|\b(?:avant-hier|hier"
            rf"|après-demain|demain)\b"
            rf"|\b{_DAY}(?: prochain| dernier)?\b|\b(?:la semaine|le mois|l['’]année|l['’]an) (?:prochaine?"
            rf"|derni(?:er|ère)|passée?)"
            rf"|\bil y a (?:une?|{_COUNT}) (?:jours?|semaines?|mois|ans?|années?)\b|(?<=\ben ){_MONTH}\b"
        ),
        Kind.TIME: (
            rf"(?<!pendant )(?<!dans )(?<!en )(?<![\d,.]){_START}\b(?:\d{{1,2}} ?h(?: ?\d\d)?|(?:\d{{1,2}}"
            rf"|{_HOUR}) heures?(?! de (?!l))(?: (?:et demie|et quart|moins le quart|\d\d))?)\b"
            r"(?: du (?:matin|soir)| de l['’]après-midi)?|\b(?<!après-)(?:midi|minuit)(?: et demi)?\b"
        ),
        Kind.MONEY: rf"{_START}\b\d(?:[\d.,]|[ \u00a0\u202f]\d{{3}})*\s?"
        r"(?:mille |(?:million|milliard)s? (?:de |d['’]))?(?:€|\$|£|euros?\b|dollars?\b|francs?\b)",
        Kind.ADDRESS: (
            r"\b\d{1,4}(?: ?(?:bis|ter))?,? (?:rue|avenue|boulevard|place|chemin|allée|impasse|quai|route|cours)"
            r"(?: (?:de|du|des|la|le|les)| (?:de )?l['’]"
            r"| d['’])* ?(?-i:[A-ZÉÈÀÂÎÔ][\w'’-]*)(?: (?-i:[A-ZÉÈÀÂÎÔ][\w'’-]*))*"
        ),
        Kind.NUMBER: rf"{started('à', 'entre|et', _COUNT)}\b{_COUNT} (?!{_NO_NOUN})(?-i:[a-zàâçéèêëîïôûù]{{3,}})\b",
        Kind.NAME: "",
    },
    owned=(
        rf"(?:\b(?P<whose>mon|ma|mes|notre|nos|ton|ta|tes|votre|vos|son|sa|ses|le|la|les|cette|ce) "
        rf"|\b(?P<whose_2>l)['’])(?P<noun>(?:{_WORD} ){{0,3}}?{_WORD})"
        r" (?P<verb>est|sont|sera|était|étaient|coûte|part|arrive|commence|débute|finit|se termine|ouvre|ferme"
        r"|s['’]appelle|passe)\b"
        r"(?: (?:de|du|à|au|le|la|en|pour|maintenant|vers|environ|fixée?|prévue?|désormais))*\s*"
        rf"|\b(?:décal|repouss|report|déplac|avanc|chang|augment|baiss|met)\w* (?P<whose_3>le|la|mon|ma"
        rf"|notre) (?P<noun_2>(?:{_WORD} ){{0,3}}?{_WORD}) (?P<verb_2>à|au|pour)(?: (?:le|la))?\s*"
        r"|\b(?:j['’]|je )(?P<does>habite|vis|ai déménagé|m['’]appelle|travaille)(?: (?:à|au|en|chez|maintenant))*\s*"
    ),
    selves=frozenset(["mon", "ma", "mes", "notre", "nos"]),
    others=frozenset(["ton", "ta", "tes", "votre", "vos"]),
    articles=frozenset({"le", "la", "les", "l", "ce", "cette"}),
    past=frozenset({"était", "étaient"}),
    relations={
        "arrive": "arrives",
        **dict.fromkeys(("finit", "se termine", "ferme"), "ends"),
        **dict.fromkeys(("habite", "vis", "ai déménagé"), "home"),
        "travaille": "work",
        **dict.fromkeys(("s'appelle", "m'appelle", "s’appelle", "m’appelle"), "name"),
    },
    statements={
        Kind.PREFERENCE: (
            (
                "",
                rf"\b(?:je n['’]aime (?:pas|plus|pas du tout)|j['’]aime(?: (?:bien|beaucoup|pas))?|j['’]adore"
                rf"|je déteste|je préfère|je ne supporte pas|je hais) (?!ça\b|cela\b|que\b|bien\b){_OBJECT}",
            ),
            (
                ALLERGY,
                rf"{_IS} (?:(?:aussi|très|pas|gravement|plus) )*allergiques? (?:à la |à l['’]|aux? |à ){_OBJECT}",
            ),
            (ALLERGY, rf"{_HAS} (?:une |(?:pas|plus) d['’]\s?)allergie (?:à la |à l['’]|aux? |à ){_OBJECT}"),
            (ALLERGY, rf"{_IS} [^.,;!?]{{1,40}} et (?:aussi )?allergiques? (?:à la |à l['’]|aux? |à )([\w' -]+)"),
            (
                DIET,
                rf"{_IS} (?:(?:plus|pas|devenue?|maintenant|aussi) )*(végan(?:e|es|s)?|végétarien(?:ne)?s?|vegan)\b",
            ),
            (
                "",
                rf"{_IS} (?:(?:plus|pas|aussi) )*(intolérante?s? (?:au|à la|aux) \w+|diabétiques?|c(?:œ|oe)liaques?)\b",
            ),
            ("", rf"{_HAS} (?:le |du |une )?(diabète|intolérance (?:au|à la|aux) \w+|maladie c(?:œ|oe)liaque)\b"),
        ),
        Kind.NEGATION: (
            (
                "rules out",
                rf"(?:^|(?<=[,;:] )|(?<=\bet ))(?:s['’]il (?:te|vous) plaît,? )?(?:ne "
                rf"|n['’])(?!t['’]inquiète|vous inquiétez|sois|soyez|hésite|est|suis"
                rf"|sais)\w+{CLAUSE}{{0,30}}? ?(?:pas|jamais|rien|plus)\b{CLAUSE}*",
            ),
            ("rules out", rf"\b(?:il est interdit|interdiction|il ne faut (?:pas|jamais)|on ne peut pas){CLAUSE}+"),
            (
                "rules out",
                rf"\bje ne (?:mange|bois|fume|veux|prends|utilise|tolère|supporte|digère)"
                rf" (?:pas|jamais|plus)\b{CLAUSE}+",
            ),
            (
                "rules out",
                rf"(?:\bnous ne (?:mangeons|buvons|tolérons|supportons)|(?:{_WHO}|\bon) ne (?:mange(?:nt)?"
                rf"|boi(?:t|vent)|tolèr(?:e|ent)|support(?:e|ent)|digèr(?:e|ent))) (?:pas|jamais|plus)\b{CLAUSE}+",
            ),
            (
                "rules out",
                rf"(?:\bje|\bnous|\bon|{_WHO}) ne (?:peux|peut|peuvent|pouvons|dois|doit|doivent|devons)"
                rf" (?:pas|jamais|plus) (?:manger|boire|prendre)\b{CLAUSE}+",
            ),
        ),
        Kind.DECISION: (
            ("decides", rf"\b(?:nous avons|on a|j['’]ai) (?:finalement )?(?:décidé|choisi|opté|convenu)\b{CLAUSE}+"),
            (
                "decides",
                rf"\b(?:on prend|on garde|on utilise|nous prenons|nous utilisons|on va utiliser"
                rf"|nous allons utiliser|prenons|utilisons|on part sur|partons sur|je prends|on passe à"
                rf"|on choisit)\b{CLAUSE}+",
            ),
        ),
    },
    replacing=(
        r"\b(?:pas|non|n['’]est plus)(?: (?:à|le|la|au|en|de))* (?P<old>[^.,;!?]{1,60}?),? mais(?: (?:bien|plutôt"
        r"|à|le|la|au|en))* (?P<new>[^.,;!?]{1,60})",
        r"\bau lieu (?:de |du |d['’])(?P<old>[^.,;!?]{1,40}?), (?P<new>[^.,;!?]{1,60})",
        r"(?P<new>[^.,;!?]{1,60}?)(?: au lieu (?:de |du |d['’])|,? plutôt que )(?:(?:à|le|la|au"
        r"|en) )*(?P<old>[^.,;!?]{1,60})",
        r"\b(?:rempla\w+|chang\w+) (?P<old>[^.,;!?]{1,60}?) (?:par|pour|en) (?P<new>[^.,;!?]{1,60})",
        r"\b(?:pass|chang|migr|augment|baiss|décal"
        r"|report)\w* (?:[\w ]{1,20}? )?de (?P<old>[^.,;!?]{1,40}?) à (?P<new>[^.,;!?]{1,40})",
    ),
    denying=(
        r"\b(?:n['’]est|ne sont) (?:pas|plus)(?: (?:à|le|la|au|en|de))* (?P<old>[^.,;!?]{1,60}?)[,;] (?:c['’]est"
        r"|ce sont|(?:il|elle) est)(?: (?:maintenant|à|le|la|au|en|de))* (?P<new>[^.,;!?]{1,60})",
        r"(?P<new>[^.,;!?]{1,60}?)(?:, (?:et )?(?:non )?pas | et (?:non )?pas )(?:(?:à|le|la|au"
        r"|en) )*(?P<old>[^.,;!?]{1,60})",
    ),
    cue=(
        rf"\bplutôt\b{_TO}|\b(?:met(?:s|tez|tons)|décal\w*|repouss\w*|report\w*|déplac\w*"
        rf"|avanc\w*|pass\w*|chang\w*|augment\w*|baiss\w*|réduis\w*)(?:-l[ae])?(?: \w+){{0,3}}?\s(?:à|au|pour"
        rf"|en)\b{_TO}"
        rf"|\bmet(?:s|tez|tons)(?:-l[ae])? {_TO}|\bje voulais dire{_TO}|\b(?:devrait|doit) être{_TO}|\b(?:est|sont"
        rf"|sera|coûte|part) (?:maintenant|désormais|finalement)\b{_TO}|\b(?:reporté|décalé|déplacé|avancé"
        rf"|passé)e?s? (?:à|au){_TO}|\bdisons{_TO}"
        rf"|{_INTERJECTION}(?:c['’]est|ce sera)\s+{_TO}"
    ),
    interjection=rf"(?:{_INTERJECTION}|\b(?:finalement|en fait)\b){_TO}",
    cue_after=r"^,? (?:plutôt(?! que)|à la place|finalement)\b",
    alternative=r"^(?:(?:non|finalement|plutôt|pardon|ok|alors|bon|en fait|attends)\b[\s,.]*)*(?:prends|prenons"
    r"|utilisons|utilise|on prend|on utilise)? ?(?P<new>[\w+#. -]{2,40}?)(?:,? (?:plutôt|à la place"
    r"|finalement))[.!]*$",
    changed=r"\b(?:plutôt|finalement|à la place|au lieu|changé d['’]avis|passe à)\b",
    unsure=r"\b(?:si|peut-être|pourrait|aurait|serait|presque|failli|ne (?:le |la )?(?:mets|change|déplace|décale"
    r"|repousse)\w* pas|à moins)\b|(?<!\bon )\b(?:veut|voudrait|aimerait)\b"
    r"|(?<!\bje )(?<!\bon )\b(?:veulent|voudraient|aimeraient|proposent?|demandent?|souhaitent?|suggèrent?)\b",
    retracted=(
        rf"^{_POLITE}(?:oublie[zs]?|annule[zs]?|laisse[zs]? tomber)"
        rf" (?:(?:ça|cela|tout ça){_CLAUSE_END}|{_WHOSE}(?P<noun>{_NOUN}){_CLAUSE_END})"
        rf"|^{_POLITE}(?:oublie[zs]?|annule[zs]?)-l[ae]{_CLAUSE_END}"
        rf"|^{_POLITE}{_WHOSE}(?P<noun_2>{_NOUN}) (?:(?:est|sont|a été|ont été) (?:\w+ )?(?:annulée?s?|supprimée?s?)"
        rf"|n['’]a plus lieu|tombe à l['’]eau){_CLAUSE_END}"
    ),
    farewell=(
        rf"(?:^|(?<=[,.!] )|(?<=merci )|(?<=alors )|(?<=allez ))à (?:demain|bientôt|plus tard|tout à l['’]heure"
        rf"|la semaine prochaine|{_DAY}(?: prochain)?)(?=\s*(?:[.!]|$|,))"
        rf"|\bon (?:se voit|se parle|s['’]appelle|se retrouve)(?: (?:demain|{_DAY}"
        rf"|la semaine prochaine))(?=\s*(?:[.!]|$|,))"
        r"|\b(?:bonne (?:nuit|journée|soirée|année)|bon week-end|joyeux \w+)\b[^.!?]*"
    ),
)

"""Spanish."""

from purser.context.facts.languages.language import CLAUSE, STOP, Language, started
from purser.context.facts.values import ALLERGY, DIET, Kind

_DAY = r"(?:lunes|martes|miércoles|miercoles|jueves|viernes|sábado|sabado|domingo)"
_MONTH = r"(?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|sep?tiembre|octubre|noviembre|diciembre)"
_HOUR = r"(?:una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce)"
_COUNT = r"(?:dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|\d+(?:[.,]\d+)*)"
_UNIT = r"(?:día|semana|mes|año)(?:e?s)?"
_START = started("a", "entre|y")
_NO_NOUN = (
    r"(?:de|del|y|o|a|en|el|la|los|las|que|por|para|con|más|mas|menos|pero|si|no|es|son|horas?|h|euros?|dólares"
    r"|dolares|pesos|veces"
    r"|como|cuando|porque|también|tambien|mil|ya|mejor|otra|otro)\b"
)
_WORD = r"(?!(?:mi|mis|tu|su|es|son|está|que|yo|y|pero|si|no)\b)[\w-]+"
_END = (
    r"(?= (?:porque|pero|cuando|mientras|así|si|desde|ahora|ya)\b| y (?:(?:soy|me|mi|yo|no|también|odio"
    rf"|prefiero|tengo|quiero|estoy|es)\b)|[¡¿]|{STOP})"
)
_OBJECT = rf"({CLAUSE}{{2,}}?){_END}"
_TO = r"(?:\s*\b(?:a|al|el|la|los|para|por|en|de|del|después|antes|desde|hasta|es|son|sea|sean|sería)\b)*[\s,:]*"
_NAME = (
    r"(?-i:(?!(?:Yo|Tú|Él|Ella|Esto|Eso|Este|Esta|Ese|Esa|El|La|Los|Las|Un|Una|Mi|Mis|Tu|Su|Sus|No|Sí|Si|Qué|Quien|Quién"
    r"|Nadie|Alguien|Nada|Todo|Todos|Y|Pero|Como|Porque|Ahora|Ya|También)\b)[A-ZÁÉÍÓÚÑ][\w-]+(?: [A-ZÁÉÍÓÚÑ][\w-]+)?)"
)
_WHO = rf"\b(?:(?:mis?|nuestr[oa]s?) (?P<of>{_WORD}(?: {_WORD})?)|(?P<who>{_NAME}))(?: también)?"
_IS = rf"(?:\b(?:(?:ya )?no )?(?:soy|somos)|{_WHO}(?: ya)?(?: no)? (?:es|son))"
_HAS = rf"(?:\b(?:(?:ya )?no )?(?:tengo|tenemos)|{_WHO}(?: ya)?(?: no)? tienen?)"
_INTERJECTION = r"(?:^|[,;.] ?)(?:(?:no|perdón|perdona|espera|en realidad|bueno|digo)[\s,.:]+)+"
_POLITE = r"(?:(?:no|bueno|entonces|al final|mejor|por favor|perdón)\b[\s,.]*)*"
_WHOSE = r"(?:el|la|los|las|mis?|nuestr[oa]s?) "
_NOUN = rf"(?:{_WORD} ){{0,3}}?{_WORD}"
_CLAUSE_END = r"(?=\s*(?:[.,;!]|$))"
_MARKERS = """
    el los las y es mi mis una un para con que por del está ayer mañana hoy prefiero mejor soy tengo gusta reunión pero
    se lo muy nos vamos vuelo son al su odio hay quiero hemos como este esta sí gracias hola nunca sino cuesta en de la
"""

SPANISH = Language(
    markers=frozenset(_MARKERS.split()),
    values={
        Kind.DATE: (
            rf"\b(?:{_DAY},? )?(?:\d{{1,2}}(?: ?[-–] ?| (?:al?|y) ))?\d{{1,2}} de {_MONTH}(?: del? \d{{4}})?\b"
            rf"(?:,? (?:un )?{_DAY}\b(?!,? \d)| \({_DAY}\))?|\b{_MONTH} del? \d{{4}}\b"
            rf"|\b(?:anteayer|antier|ayer|pasado mañana|(?<!la )mañana(?! por la)|mañana(?= por la))\b"
            rf"|\b(?:la |el )?(?:próxim[oa]|pasad[oa]) (?:{_DAY}|semana|mes|año)\b"
            rf"|\b(?:la semana|el mes|el año) (?:pasad[oa]|que viene|próxim[oa])\b|\b{_DAY}(?: pasado| que viene"
            rf"| próximo)?\b"
            rf"|\bhace (?:un|una|{_COUNT}) {_UNIT}\b"
        ),
        Kind.TIME: (
            rf"(?:(?<=\ba )|(?<=\bde )|(?<=\bdesde )|(?<=\bhasta )|(?<=\bpara )|(?<=\bson )|(?<=\bsobre )"
            rf"|(?<=\bes a ))"
            rf"las? (?:\d{{1,2}}|{_HOUR})\b(?:[:.]\d\d)?(?: (?:y|menos) (?:media|cuarto|cinco|diez|veinte"
            rf"|veinticinco|\d{{1,2}})\b)?(?: en punto)?"
            rf"(?: de la (?:mañana|tarde|noche|madrugada)| [ap]\.?\s?m\b\.?| horas)?"
            rf"|{_START}\b\d{{1,2}}(?::\d\d)? ?h(?:oras)?\b(?! \w+ de)|\bmediod[ií]a\b|\bmedianoche\b"
        ),
        Kind.MONEY: rf"{_START}\b\d(?:[\d.,]*\d)?"
        r"\s?(?:(?:mil|mill(?:ón|ones) de) )?(?:€|\$|£|euros?\b|dólares\b|dolares\b|pesos\b|soles\b)(?:\s?/mes)?",
        Kind.ADDRESS: (
            r"\b(?:calle|avenida|avda\.?|av\.|plaza|paseo|carrera|camino|c/) ?(?-i:[A-ZÁÉÍÓÚÑ][\w.]*)(?:(?: (?:de"
            r"|del|la|los|las|el))* (?-i:[A-ZÁÉÍÓÚÑ][\w]*))*"
            r"(?:,? (?:n[úu]mero|núm\.?|n\.º|nº))?,? \d{1,4}\b"
        ),
        Kind.NUMBER: rf"{started('a', 'entre|y', _COUNT)}\b{_COUNT} (?!{_NO_NOUN}|{_MONTH})(?-i:[a-záéíóúñ]{{3,}})\b",
        Kind.NAME: "",
    },
    owned=(
        rf"\b(?P<whose>mis?|nuestr[oa]s?|tus?|sus?|el|la|los|las) (?P<noun>(?:{_WORD} ){{0,3}}?{_WORD})"
        r" (?P<verb>es|son|está|será|era|fue|fueron|cuesta|vale|sale|llega|empieza|comienza|termina|acaba|abre"
        r"|cierra|queda|se llama|pasa|cambia|sube|baja)\b"
        r"(?: (?:de|en|a|al|el|los|para|ahora|sobre|unos|ya|prevista?o?|programad[oa]|fijad[oa]|hasta))*\s*"
        rf"|\b(?:cambi|muev|mov|pas|aplaz|retras|adelant|sub|baj|pon|pospon)\w* (?P<whose_2>el|la|mi"
        rf"|nuestr[oa]) (?P<noun_2>(?:{_WORD} ){{0,3}}?{_WORD}) (?P<verb_2>a|al|para|hasta)(?: (?:el|los))?\s*"
        r"|\b(?P<does>vivo|me llamo|trabajo|me mudé)(?: (?:ahora|en|a|para|de))*\s*"
    ),
    selves=frozenset({"mi", "mis", "nuestro", "nuestra", "nuestros", "nuestras"}),
    others=frozenset({"tu", "tus"}),
    articles=frozenset({"el", "la", "los", "las"}),
    past=frozenset({"era", "fue", "fueron"}),
    relations={
        "llega": "arrives",
        **dict.fromkeys(("termina", "acaba", "cierra"), "ends"),
        **dict.fromkeys(("vivo", "me mudé"), "home"),
        "me llamo": "name",
        "trabajo": "work",
        "se llama": "name",
    },
    statements={
        Kind.PREFERENCE: (
            (
                "",
                rf"\b(?:(?:ya )?no )?me (?:gustan?|encantan?|molestan?|disgustan?) (?:mucho |más |nada )*(?!que\b"
                rf"|eso\b){_OBJECT}",
            ),
            ("", rf"(?<!si )\b(?:(?:ya )?no )?(?:prefiero|odio|detesto|adoro|no soporto) (?!que\b|eso\b){_OBJECT}"),
            (ALLERGY, rf"{_IS} (?:muy |también )?al[ée]rgic[oa]s? (?:a los |a las |a la |al? )?{_OBJECT}"),
            (ALLERGY, rf"{_HAS} (?:una |ninguna )?alergia (?:a los |a las |a la |al? )?{_OBJECT}"),
            (DIET, rf"{_IS} (?:también )?(vegan[oa]|vegetarian[oa])s?\b"),
            ("", rf"{_IS} (?:también )?(intolerantes? (?:a la|al) \w+|celíac[oa]s?|diabétic[oa]s?)\b"),
            ("", rf"{_HAS} (diabetes|celiaquía|intolerancia (?:a la|al) \w+)\b"),
        ),
        Kind.NEGATION: (
            (
                "rules out",
                rf"(?:^|(?<=[,;:] )|(?<=\by )|(?<=favor )|(?<=¡))(?:por favor,? )?(?:no"
                rf"|nunca) (?!te preocupes|se preocupe|pasa nada|importa"
                rf"|sé|hay|es|está|me|te|lo|la|puedo|quiero|tengo|olvides)\w+(?:es|as"
                rf"|en|an|e|a|éis|áis)\b{CLAUSE}+",
            ),
            (
                "rules out",
                rf"\b(?:no se puede|no está permitido|está prohibido|ya no(?! (?:me|soy|tengo)\b)){CLAUSE}+",
            ),
            ("rules out", rf"\b(?:nunca|no) (?:como|bebo|fumo|quiero|uso|acepto)\b{CLAUSE}+"),
            (
                "rules out",
                rf"\b(?:nunca|no) (?:tolero|comemos|bebemos|toleramos"
                rf"|(?:puedo|podemos) (?:comer|beber|tomar))\b{CLAUSE}+",
            ),
            (
                "rules out",
                rf"{_WHO} (?:ya )?(?:nunca|no) (?:comen?|beben?|toleran?|pueden? (?:comer|beber|tomar))\b{CLAUSE}+",
            ),
        ),
        Kind.DECISION: (
            (
                "decides",
                rf"\b(?:decidimos|decidí|hemos decidido|he decidido|elegimos|elegí|hemos elegido|acordamos"
                rf"|optamos|quedamos)\b{CLAUSE}+",
            ),
            (
                "decides",
                rf"\b(?:(?:nos )?(?:cambi|pas)amos a(?! las?\b)|migramos a"
                rf"|vamos a usar|vamos con|usaremos|usamos|nos quedamos con|me quedo con|tomaremos"
                rf"|reservamos|usemos|voy a usar)\b{CLAUSE}+",
            ),
        ),
    },
    replacing=(
        r"\b(?:no(?: es| son)?|ya no(?: es)?)(?: (?:a|el|la|en|de))* (?P<old>[^.,;!?]{1,60}?),? sino(?: (?:que|en"
        r"|de|el|la))* (?P<new>[^.,;!?]{1,60})",
        r"(?P<new>[^.,;!?]{1,60}?)(?: en (?:vez|lugar) de)(?: (?:a|en|el|la))* (?P<old>[^.,;!?]{1,60})",
        r"\b(?:cambi\w+|sustitu\w+|reemplaz\w+|pas\w+|migra\w+|sub\w+|baj\w+)(?: (?:el|la|lo"
        r"|de))* (?P<old>[^.,;!?]{1,60}?) (?:por|a|para) (?P<new>[^.,;!?]{1,60})",
        r"\ben (?:vez|lugar) de (?P<old>[^.,;!?]{1,40}?), (?P<new>[^.,;!?]{1,60})",
    ),
    denying=(
        r"\bno (?:es|son|está|sale|cuesta)(?: (?:a|de|en|el|la))* (?P<old>[^.,;!?]{1,60}?)[,;] (?:es|son|está|sale"
        r"|cuesta)(?: (?:ahora|a|de|en|el|la))* (?P<new>[^.,;!?]{1,60})",
        r"(?P<new>[^.,;!?]{1,60}?)(?:,? y no|, no)(?: (?:a|en|el|la|es))* (?P<old>[^.,;!?]{1,60})",
    ),
    cue=(
        rf"\bmejor{_TO}|\bque sean?{_TO}|\b(?:cambi|pas|muev|mov|aplaz|retras|adelant|sub|baj|pon|pospon|aument"
        rf"|reduc)\w*(?: \w+){{0,3}}? (?:a|al|para|hasta)\b{_TO}"
        rf"|\b(?:cámbialo|muévelo|pásalo|ponlo|cámbiala|muévela|pásala|ponla|súbelo|bájalo|déjalo){_TO}(?:en\s)?"
        rf"|\bquise decir{_TO}|\bdebería ser{_TO}|\bahora (?:es|son|está|sale|cuesta){_TO}|\b(?:es|son|está|sale"
        rf"|cuesta) ahora{_TO}|\bcorrección:?{_TO}|{_INTERJECTION}(?:es|son|era|pon)\s+{_TO}"
    ),
    interjection=rf"(?:{_INTERJECTION}|\b(?:al final|finalmente)\b)(?: ?(?:seremos|somos|serán?)\b)?{_TO}",
    cue_after=r"^,? (?:mejor|en su lugar|en (?:vez|lugar) de eso|al final)\b",
    alternative=r"^(?:(?:no|mejor|perdón|espera|bueno|entonces|en realidad|pues|al final)\b[\s,.]*)*(?:usa|usemos"
    r"|pon|toma|con|vamos con|prefiero)? ?(?P<new>[\w+#. -]{2,40}?)(?:,? (?:en su lugar|en (?:vez|lugar) de eso"
    r"|mejor|al final))[.!]*$",
    changed=r"\b(?:mejor|en (?:vez|lugar) de|en su lugar|al final|finalmente|cambié de idea)\b",
    unsure=r"\b(?:si|quizás?|tal vez|a lo mejor|ojalá|casi|no (?:lo |la )?(?:cambies|muevas|pases|pongas|podemos)"
    r"|no puede|quieren?|querrían?|propone[n]?|piden?|pretenden?|sugieren?|desean?|le[s]? gustaría)\b",
    retracted=(
        rf"^{_POLITE}(?:olvida(?:te de)?|olvide|olvídate de|cancel[ae]|anul[ae])"
        rf" (?:(?:eso|esto|lo de antes){_CLAUSE_END}|{_WHOSE}(?P<noun>{_NOUN}){_CLAUSE_END})"
        rf"|^{_POLITE}(?:olvíd[ae]|cancél[ae]|anúl[ae])l[oa]{_CLAUSE_END}"
        rf"|^{_POLITE}{_WHOSE}(?P<noun_2>{_NOUN}) (?:(?:está|fue|ha sido|queda) (?:cancelad|anulad|suspendid)[oa]"
        rf"|se (?:ha )?(?:cancel|anul|suspend)(?:ó|ado|ido|ió)){_CLAUSE_END}"
    ),
    farewell=(
        rf"(?:^|(?<=[,.!] )|(?<=[¡¿])|(?<=gracias )|(?<=pues ))(?:hasta|nos vemos|te veo|hablamos"
        rf"|nos hablamos)(?: (?:el|la|pronto|luego|entonces|de nuevo))*(?: (?:mañana|{_DAY}|semana que viene"
        rf"|próxima semana|próximo {_DAY}))*"
        r"|\b(?:buenos días|buenas (?:tardes|noches)|feliz \w+|que tengas)\b[^.!?]*"
    ),
)

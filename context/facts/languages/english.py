"""English."""

from purser.context.facts.languages.language import CLAUSE, STOP, Language, started
from purser.context.facts.values import ALLERGY, DIET, Kind

DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_SPAN = r"(?:day|night|week(?:end)?|month|year|spring|summer|fall|autumn|winter)"
_HOUR = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_FEW = rf"(?:a|an|{_HOUR}|a few|a couple of|\d+)"
_COUNT = r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d+(?:[.,]\d+)*)"
_START = started("to", "between|and")
_MINUS = r"(?:\b(?:minus|negative) |(?<!\S)[-−])?"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?"
_ON_DAY = rf"(?:,? (?:an? )?{DAY}\b(?!,? (?:the )?(?:\d|{MONTH}))| \({DAY}\))?"
"""The weekday after a date."""
_NO_NOUN = (
    r"(?:of|and|or|to|in|at|is|are|was|were|for|with|more|than|the|from|on|by|as|if|but|when|that|this|which|who"
    r"|will|can"
    r"|has|have|had|then|so|not|do|you|we|it|they|he|she|i|am|pm|st|nd|rd|th|times|ones|too|other|different|new|us"
    r"|per"
    r"|instead|please|now|today|tomorrow|because|still|also|just|only|all|within|between|under|over|about"
    r"|o['’]clock|dollars|euros|[ap]\.m)\b"
)
_STREET = (
    r"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Place|Pl|Square|Way|Terrace|Parkway"
    r"|Alley"
    r"|Close|Row|Crescent)"
)
_WORD = r"(?!(?:my|our|your|the|is|are|was|were|that|I|you|we|he|she|it|they|and|but|if|not|from|to|at)\b)[\w'’-]+"
_OBJECT = (
    rf"({CLAUSE}{{2,}}?)(?= (?:because|since|but|when|while|so|as|if|anymore|any more|these days|[-–—]) "
    r"| (?:instead|now|anymore|any more|today)\b| and (?:(?:I|we|you|he|she|they|it|my|our|the|then|also|so|am|is"
    r"|was|want|need"
    rf"|have|would|will|can|do|don['’]t|hate|love|like|prefer|please|that|this)\b|['’])|{STOP})"
)
_VAGUE = (
    r"(?!(?:it|that|this|these|those|them|you|your|him|her|how|what|when|where|to (?:see|hear|know)|the way|seeing"
    r"|hearing|knowing|a lot|so|and|but|me|us)\b)"
)
_ADVERB = (
    r"(?:(?:\w+ly|also|always|still|just|do|don['’]t|do not|doesn['’]t|does not|no longer|now|much|rather|used to) )*"
)
_NO_PRONOUN = r"(?! ?(?:it|that|this|them|these|those|you|me|us|him|her|anything|anyone)\b)"
_NAME = (
    r"(?-i:(?!(?:I|It|He|She|We|You|They|This|That|These|Those|There|Here|What|Which|Who|Where|When|How|If|No|Not|The"
    r"|An?|My|Our|Your|His|Her|Its|Their|And|But|So|Or|Then|Also|Because|Since|Now|Nobody|None|Nothing|Everyone"
    r"|Everybody|Everything|Someone|Somebody|Something|Anyone|Anybody|One|All|Please)\b)[A-ZÀ-ÖØ-Þ][\w-]+"
    r"(?: [A-ZÀ-ÖØ-Þ][\w-]+)?)(?:['’]s \w+)?"
)
_WHO = rf"\b(?:I|we|(?:my|our) (?P<of>{_WORD}(?: {_WORD}){{0,2}}?)|(?P<who>{_NAME}))"
_IS = rf"{_WHO}(?:['’](?:m|re|s)| am| are| is)(?:n['’]t)?"
_HAS = rf"{_WHO}(?:['’]ve| {_ADVERB}(?:have|has))"
_IDLE = (
    r"(?!(?:worry|stress|panic|fret|hurry|rush|forget|know|you|hesitate|give|be|get|mention (?:it|that)(?! \w)"
    r"|miss|stop|have|let|even|think|say|lose|thank|need|want"
    r"|see|feel|really|sweat|mind|make it)\b)"
)
_TO = r"(?:\s*\b(?:at|on|for|to|by|after|before|from|around|about|the|until|in|with|a|like|say)\b)*[\s,:]*"
_SETTLED = (
    r"(?:decided|agreed|chose|settled|opted|picked(?! up)|go with|going with|went with"
    r"|(?:switched|switch|switching|migrated) to)"
)

_CHANGE = (
    r"(?:chang|mov|push|shift|set|switch|reschedul|postpon|bump|bring|updat|rais|lower|increas|reduc|cut"
    r"|extend|delay)"
)
_MOVED = (
    r"\b(?:(?:ha(?:s|ve) (?:now )?(?:been )?|was |were |is |are |got )?(?:chang|mov|push|shift|postpon|reschedul|rais"
    r"|increas|extend|delay|reduc|lower)ed"
    r"|(?:has been |was |is |got )(?:set|cut|put))(?: back| forward| up| out)? (?:to|until)\b"
)
_WISH = (
    r"\b(?!(?:I|we|you|to|not|would|really|also|just|only|still|even|now|always|never)\b)[\w'’-]+(?:['’]d| would)?"
    r"(?: (?:really|also|just|now|still))? (?:(?:wants?|wanted|like[sd]?|prefers?|hopes|ask(?:s|ed)|insists?|intends?)"
    r" (?:\w+ )?(?:to|on)|propos(?:es?|ed)|suggest(?:s|ed)?|recommend(?:s|ed)?|demand(?:s|ed)?)\b"
)
"""The wish of somebody else."""
_INTERJECTION = (
    r"(?:^|[,;.] ?)(?:(?:no|nope|sorry|wait|oops|actually|correction|my (?:mistake|bad)|scratch that|rather|better"
    r"|on second thought)\b[\s,.:!—-]*)+"
)
_POLITE = r"(?:(?:please|actually|sorry|no|oh|ok|okay|well|wait|so|and|but|then|just|let['’]s|you can)\b[\s,.]*)*"
_WHOSE = r"(?:(?:the|my|our)|(?P<whose>(?-i:[A-Z])\w+['’]s)) "
_WHOSE_2 = _WHOSE.replace("whose", "whose_2")
_NOUN = rf"(?:{_WORD} ){{0,2}}?{_WORD}"
_CLAUSE_END = r"(?: (?:please|then|again|for now|altogether|after all))?(?=\s*(?:[.,;!]|$))"
_MARKERS = """
    the is and my i to it you make not at we for of with this that was are be have has an let s t do can
"""

ENGLISH = Language(
    markers=frozenset(_MARKERS.split()),
    values={
        Kind.DATE: (
            rf"\b(?:{DAY},? )?(?:{MONTH}\.? {_ORDINAL}(?:(?: ?[-–] ?| (?:to|and) ){_ORDINAL}(?! ?(?:[ap]m|{MONTH})\b))?"
            rf"(?:,? \d{{4}})?\b(?!:)"
            rf"|(?:{_ORDINAL}(?: ?[-–] ?| (?:to|and) ))?{_ORDINAL}(?: of)? {MONTH}\b(?:,? \d{{4}})?){_ON_DAY}"
            rf"|\b(?:{DAY},? )?{MONTH},? \d{{4}}\b"
            rf"|\b(?:the day (?:after tomorrow|before yesterday)|yesterday|tomorrow"
            rf"|(?:last|next|this past|this coming) (?:{_SPAN}|{DAY}|{MONTH})\b|{_FEW} {_SPAN}s? ago)\b"
            rf"|(?:(?<=\bin )|(?<=\bby )|(?<=\bsince )|(?<=\buntil )|(?<=\bto )){MONTH}(?!\w)|\b{DAY}(?!\w)"
        ),
        Kind.TIME: (
            rf"{_START}\b\d{{1,2}}\s?[ap](?:\.m\.|m\b)"
            rf"|\b(?:half past|(?:a )?quarter (?:past|to)) (?:{_HOUR}|\d{{1,2}})\b"
            rf"|\b(?:{_HOUR}|\d{{1,2}}) o['’]clock\b|\b(?:noon|midnight)\b"
        ),
        Kind.MONEY: (
            rf"{_START}{_MINUS}\b\d(?:[\d,]*\d)?(?:\.\d+)?(?:\s?(?:k|thousand|million|billion|[mb]n?)\b)?"
            r"\s?(?:dollars|bucks|euros?|pounds(?! of\b)|cents|yuan|yen|won|USD|EUR|GBP"
            r"|CNY|RMB|JPY|KRW)\b"
        ),
        Kind.ADDRESS: (
            rf"(?-i:\b\d{{1,5}}[A-Za-z]? (?:(?:[A-Z][\w'’.-]*|\d+(?:st|nd|rd|th)) ){{1,4}}{_STREET}\b"
            r"(?:,? (?:[Aa]pt|[Ss]uite|[Uu]nit|[Ff]lat)\.? ?\w+)?)"
        ),
        Kind.NUMBER: (
            rf"{started('to', 'between|and', _COUNT)}{_MINUS}\b{_COUNT}[ -](?!{_NO_NOUN})"
            r"(?:(?:business|working|checked) )?(?-i:[a-z]{3,})(?:-[a-z]+)*\b"
        ),
        Kind.NAME: "",
    },
    owned=(
        r"\b(?P<whose>my|our|your|the|his|her|their|this|(?-i:(?!It|That|Let|What|There|Here|He|She|Who|How"
        r"|Where)[A-Z]\w+['’]s)) "
        rf"(?P<noun>(?:{_WORD} ){{0,3}}?{_WORD})(?:,? (?:actually|by the way))?,?"
        rf" ?(?P<verb>{_MOVED}|is|are|was|were|used to be|will be|has been|becomes?|went up to|costs?|leaves"
        r"|departs|takes off|arrives|lands|starts|begins|ends|finishes|opens|closes|=|:)(?=[\s\"“'(#])"
        r"(?: (?:not|now|about|around|at|on|for|by|in|only|just|actually|still|currently|really|due|called|named"
        r"|scheduled for|set for"
        r"|from|up to|the))*\s*[\"“'(#]*"
        rf"|\b{_CHANGE}\w* (?P<whose_2>the|my|our|her|his|(?-i:[A-Z]\w+['’]s)) (?P<noun_2>(?:{_WORD} ){{0,3}}?{_WORD})"
        r"(?: (?:back|forward|up|down|out))?"
        r" (?P<verb_2>to|until|for)(?: (?:at|about|around|the|on))*\s*|\b(?P<verb_3>make|set) (?P<whose_3>the|my"
        r"|our) (?P<noun_3>(?:\w+ ){0,3}\w+)(?: (?:at|on|for))?\s*"
        r"|\bI(?:['’](?:m|ve)| am| have)? (?:now |just |actually |currently |also )*(?P<does>live|moved|work|staying"
        r"|called|weigh)(?: (?:at|in|on|to|as|for))*\s*"
        r"|\bcall (?P<does_2>me)\s*"
    ),
    selves=frozenset({"my", "our"}),
    others=frozenset({"your"}),
    articles=frozenset({"the", "this"}),
    past=frozenset({"was", "were", "used to be", "has been"}),
    relations={
        **dict.fromkeys(("arrives", "lands"), "arrives"),
        **dict.fromkeys(("ends", "finishes", "closes"), "ends"),
        **dict.fromkeys(("live", "moved"), "home"),
        "staying": "stay",
        **dict.fromkeys(("called", "me"), "name"),
    },
    statements={
        Kind.PREFERENCE: (
            (
                "",
                rf"\bI {_ADVERB}(?:prefer|like|love|enjoy|hate|dislike|adore|can['’]t stand"
                rf"|cannot stand) {_VAGUE}{_OBJECT}",
            ),
            ("", rf"\bI(?:['’]m| am) {_ADVERB}(?:not )?(?:very )?(?:a (?:big |huge )?fan of|into) {_OBJECT}"),
            (ALLERGY, rf"{_IS} {_ADVERB}(?:not )?(?:\w+ly )?allergic to {_OBJECT}"),
            (ALLERGY, rf"{_HAS} (?:an? |any |no )?(?:\w+ )?allergy to {_OBJECT}"),
            (
                ALLERGY,
                rf"{_HAS} (?:an? |any |no )?(?:(?:severe|serious|strong|bad|mild|slight) )?(?!(?:an?|any|no|known|many"
                r"|some|severe|serious|strong|bad|mild|slight)\b)"
                r"([\w'’ -]{2,30}?) allerg(?:y|ies)\b(?! to\b)",
            ),
            (DIET, rf"{_IS} (?:(?:a|also|now|not|no longer|\w+ly) )*(vegan|vegetarian|pescatarian)s?\b"),
            (
                "",
                rf"{_IS} (?:(?:a|also|now|not|no longer|\w+ly) )*([\w-]+[- ]intolerant|gluten[- ]free|diabetic"
                r"|co?eliac)s?\b",
            ),
            ("", rf"{_HAS} (?:(?:type \d|an?|no) )*(diabetes|co?eliac disease|[\w-]+ intolerance)\b"),
            ("", rf"\bI(?:['’]d| would) (?:much |\w+ly )*(?:prefer|rather) {_OBJECT}"),
        ),
        Kind.NEGATION: (
            (
                "rules out",
                r"(?:^|(?<=[,;:] )|(?<=\band )|(?<=\bbut )|(?<=\bso )|(?<=\bplease ))"
                rf"(?:[Pp]lease )?(?:[Nn]ever(?! (?:saw|been|had|thought|seen|knew|heard|mind|once|\w+ed)\b)"
                rf"|[Dd]o not|[Dd]on['’]t) {_IDLE}\w+{CLAUSE}*",
            ),
            (
                "rules out",
                r"\b(?:must not|mustn['’]t|may not|cannot be|can['’]t be|(?:is|are) not (?:allowed|permitted)"
                rf"|no longer(?!{CLAUSE}* but | (?:a |\w+ly )?(?:allergic|vegan|vegetarian|pescatarian|like|love"
                r"|enjoy)\b)"
                rf"|under no circumstances){CLAUSE}+",
            ),
            (
                "rules out",
                rf"{_WHO} (?:never|cannot|can['’]t|can not|must not|mustn['’]t|may not|won['’]t"
                rf"|do(?:es)?(?:n['’]t| not)|no longer) (?:eat|drink|tolerate|digest)s?\b{_NO_PRONOUN}{CLAUSE}+",
            ),
            (
                "rules out",
                rf"{_WHO} (?:cannot|can['’]t|can not|must not|mustn['’]t|may not) have (?!been\b|to\b){_NO_PRONOUN}"
                rf"{CLAUSE}+",
            ),
            (
                "rules out",
                r"\bI (?:never|do not|don['’]t|won['’]t|cannot|can['’]t) "
                rf"(?:smoke|want(?! to)|need|own|fly|use|drive|accept|work|speak|take)\b{_NO_PRONOUN}{CLAUSE}+",
            ),
        ),
        Kind.DECISION: (
            (
                "decides",
                r"\b(?:I|[Ww]e)(?:['’](?:ve|ll|d|re|m)| have| had| will| are| am)?(?: (?:finally|just|both|all|now"
                r"|actually))* "
                rf"{_SETTLED}\b{CLAUSE}+",
            ),
            (
                "decides",
                rf"\b(?:I|[Ww]e)(?:['’]ll| will) (?:use|take|book|choose|pick|order|stick with"
                rf"|stay with)\b(?! (?:your|care|it|that|a (?:look|break))\b){CLAUSE}+",
            ),
            (
                "decides",
                rf"\b[Ww]e (?:currently |now )?use (?!(?:it|that|this|them|to|up|about|around|\d+)\b){CLAUSE}+",
            ),
            (
                "decides",
                rf"\b[Ll]et['’]s (?:(?:just|rather|actually) )?(?:go with|use|book|take|choose|pick"
                rf"|stick with|switch to)\b{CLAUSE}+",
            ),
        ),
    },
    replacing=(
        r"(?P<new>[^.;!?,]{1,60}?)(?:,? instead of|,? rather than)(?: (?:at|on|in|for|the))* (?P<old>[^.,;!?]{1,60})",
        r"\b(?:not|isn['’]t|aren['’]t|no longer)(?: (?:at|on|in|for|the"
        r"|use))* (?P<old>[^.,;!?]{1,60}?),? but (?:rather )?(?P<new>[^.,;!?]{1,60})",
        r"\b(?:replace|swap)d? (?P<old>[^.,;!?]{1,60}?) (?:with|for|by) (?P<new>[^.,;!?]{1,60})",
        rf"\b(?:{_CHANGE}|renam|went|goes|migrat|ris|rose|grew|fell|dropped)\w*(?: [\w ]{{1,30}}?)?"
        r" from (?P<old>[^.,;!?]{1,40}?) to (?P<new>[^.,;!?]{1,40})",
        r"\b(?:it|that)(?:['’]s| is) not (?P<old>[^.,;!?]{1,60}?)[,;] (?:it|that)(?:['’]s"
        r"| is) (?P<new>[^.,;!?]{1,60})",
    ),
    denying=(
        r"(?P<new>[^.;!?,]{1,60}?), (?:and )?not(?: (?:at|on|in|for|the))* (?P<old>[^.,;!?]{1,60})",
        r"(?P<new>[^.;!?,]{0,50}?(?-i:\b(?:\d[\w:.]*"
        r"|[A-Z][\w-]+))) (?:and )?not (?=(?-i:[\dA-Z]))(?P<old>[^.,;!?]{1,60})",
        r"\b(?:(?:is|are) (?:not|no longer)|isn['’]t|aren['’]t)(?: (?:at|on|in|for|the))* (?P<old>[^.,;!?]{1,60}?)"
        r"(?:[,;]| [–—-]) (?:it|that|they)(?:['’]s|['’]re| is| are)(?: (?:now|at|on|in|for|the))*"
        r" (?P<new>[^.,;!?]{1,60})",
    ),
    cue=(
        rf"\bmak(?:e|ing) (?:it|that|them){_TO}|\bmake (?:the|my|our) (?:\w+ ){{1,3}}?{_TO}"
        rf"|\b{_CHANGE}\w* (?:it|that|this|them|everything|(?:the|my|our) (?:[\w'’-]+ ){{0,3}}[\w'’-]+)(?: (?:back"
        rf"|forward|up|down|out))? (?:to|for|until)\b{_TO}"
        rf"|\b(?:i|we) mean(?:t)?\b{_TO}|\b(?:should|must) (?:have )?be(?:en)?\b{_TO}|\b(?:it|that)(?:['’]s"
        rf"| is) now\b{_TO}"
        rf"|{_MOVED}{_TO}|\bcorrection:?{_TO}"
        rf"|\b(?:is|are|['’]s|['’]re) (?:now|actually){_TO}|\bnow (?:it(?:['’]s| is)|leaves|starts|costs)\b{_TO}"
        rf"|{_INTERJECTION}(?:it(?:['’]s| is)|let['’]s (?:do|say|go with)|we['’]re)[\s,]+{_TO}"
    ),
    interjection=rf"{_INTERJECTION}(?:(?:it|that|they) \w+ |I (?:said|meant) )?{_TO}",
    cue_after=r"^,? (?:instead(?! of)|after all|rather(?! than)|now\b)",
    alternative=(
        r"^(?:(?:no|nope|actually|sorry|wait|hmm|ok|okay|then|oh|well|please|and|let['’]s(?: do| use| go with"
        r"| take)?|use|we want"
        r"|i['’]ll take|i want|i['’]d like)\b[\s,.!]*)*(?P<new>[\w+#. -]{2,40}?),? (?:instead|after all"
        r"|rather)(?: of that)?(?:,? (?:please|then))?[.!]*$"
    ),
    changed=r"\b(?:instead|after all|rather than|changed (?:my|our) mind|on second thought|switch(?:ed|ing)? to)\b",
    unsure=(
        r"\b(?:if|unless|whether|maybe|perhaps|might|could have|would have|wish|almost|nearly|suppose)\b"
        rf"|{_WISH}"
        r"|\b(?:(?:do|did|can|ca|could|should"
        rf"|would|will|wo)(?:n['’]t| not)|cannot|never) (?:\w+ )?(?:make|{_CHANGE}\w*)\b"
    ),
    retracted=(
        rf"^{_POLITE}(?:cancel|forget(?: about)?|never ?mind|drop|scrap|scratch|skip|ignore|disregard)"
        rf" {_WHOSE}(?P<noun>{_NOUN}){_CLAUSE_END}"
        rf"|^{_POLITE}(?:cancel|forget(?: about)?|scratch|strike|ignore|disregard) (?:that|it|this){_CLAUSE_END}"
        rf"|^{_POLITE}{_WHOSE_2}(?P<noun_2>{_NOUN}) (?:is|was|were|are|(?:has|have) been|got)(?: now| just)?"
        rf" (?:cancell?ed|called off|scrapped){_CLAUSE_END}"
    ),
    farewell=(
        rf"\b(?:see|talk to|catch|speak to|meet) (?:you|ya|u)\b(?: (?:all|again|soon|then|there|around|on|until"
        rf"|till|in))*"
        rf"(?: (?:tomorrow|tonight|later|(?:next|this|on) (?:{_SPAN}|{DAY})|{DAY}))*"
        rf"|^(?:until|till) (?:tomorrow|next {_SPAN}|{DAY})(?=\s*[.!]*$)|\bgood (?:night|morning|evening)\b[^.!?]*"
        r"|(?:^|(?<=[.,;!] )|(?<=[.,;!] and )|(?<=\bthanks and )|(?<=\byou and ))have an? (?:\w+ ){1,3}"
        rf"(?:day|morning|afternoon|evening|night|week(?:end)?|time|trip|flight|journey|stay|holiday|vacation|one|{DAY})\b"
        r"[^.!?]*"
        rf"|\b(?:bye|cheers|goodbye|take care)\b[^.!?]*|\b(?:happy|merry) \w+(?: \w+)?(?: \d{{4}})?"
    ),
)

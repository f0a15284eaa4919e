"""Idle texts: greetings, thanks, farewells, consent and offers of help, which an extract leaves out."""

import re

_LONGEST = 300
"""Characters above which a text says something."""

# Within a language, longer phrases stand before shorter ones that begin them.
_ENGLISH = (
    r"(?:hi|hello|hey|dear)(?: (?:there|all|everyone|again))*|welcome(?: back)?",
    r"(?:good|great|nice) (?:job|work)|good (?:morning|afternoon|evening|night|luck|idea|point|choice"
    r"|to (?:know|hear)(?: that)?)",
    r"(?:many )?thank(?:s| you)"
    r"(?: (?:so much|very much|a lot|again|all|everyone|then|too|for (?:all )?(?:your|the) \w+))*",
    r"you(?: are|['’]?re) (?:very |most )?welcome|(?:it(?: is|['’]?s) )?my pleasure|no (?:problem|worries)"
    r"|do(?: not|n['’]?t) worry|any ?time|cheers",
    r"(?:(?:that|it)(?:['’]?s| is| sounds)|sounds) (?:so |really |very )*"
    r"(?:good|great|perfect|fine|lovely|wonderful|nice|cool|amazing|awesome|excellent)(?: (?:to|with|by|for) me)?",
    r"(?:very |so |how )?(?:great|perfect|lovely|wonderful|excellent|awesome|amazing|fantastic|brilliant|cool|nice|fine"
    r"|good)(?: (?:by|with) me)?",
    r"(?:you(?: are|['’]?re| were|['’]?ve been| have been)|(?:that|it|this)(?:['’]?s| is| was| has been)) "
    r"(?:(?:so|very|really|such|most|just|super|extremely|incredibly|an?|the|of) )*"
    r"(?:(?:great|big|huge|good|best|helpful|kind|patient|amazing|wonderful|awesome|fantastic|excellent|perfect|brilliant"
    r"|star|lifesaver|pleasure|legend|friend|assistant|help)(?: |\b))+(?:(?:to|with|by|for|of) (?:me|us|you)\b)?",
    r"(?:i )?(?:(?:really|truly|greatly|very much|so much) )?appreciate (?:it|that|this|(?:all )?(?:your|the) (?:\w+ )?"
    r"(?:help|time|patience|support|assistance|advice|efforts?|work|service|information))(?: (?:very|so) much)?",
    r"works for me|sure(?: thing)?|certainly|of course|absolutely|got it|i (?:see|understand)|understood|noted|agreed",
    r"ok(?:ay)?|all ?right|will do|well(?: done)?|congratulations",
    r"(?:i(?: am|['’]m) )?(?:so |very )?sorry(?: (?:to hear|about) that)?",
    r"(?:good)?bye(?: bye)?|see you(?: (?:all|there|then|again|soon|later|around|tomorrow))*|take care|safe travels",
    r"have an? (?:(?:very|great|good|nice|lovely|wonderful|safe|pleasant) )*"
    r"(?:day|evening|night|weekend|week|time|trip|flight|journey|stay|one)",
    r"(?:you|same to you|likewise) too|same to you|likewise",
    r"best wishes|(?:best|kind|warm) regards|sincerely|yours",
    r"wow|yay|hooray|whoa|ha(?:ha)+|lol|oh|ah|aha|hm+|uh|um|then|so|please",
    r"(?:i )?hope (?:this|that|it) helps",
    r"(?:please )?(?:hold on|bear with me|one moment)(?: please)?",
)
_GERMAN = (
    r"(?:hallo|hi|hey|moin|servus)(?: (?:zusammen|alle|nochmal))?|gr(?:ü|ue)(?:ß|ss)(?: (?:gott|dich|sie|euch))",
    r"guten? (?:morgen|tag|abend|nacht|idee|appetit|reise)|willkommen",
    r"(?:danke|vielen(?: lieben)? dank|(?:besten|herzlichen|lieben|tausend) dank)"
    r"(?: (?:schön|sehr|dir|ihnen|euch|vielmals|nochmals|auch))*",
    r"bitte(?: (?:schön|sehr))?|gern(?:e)?(?: geschehen)?|keine ursache|kein(?:e)? (?:problem|sorge)|nichts zu danken",
    r"(?:(?:das )?(?:ist|klingt|passt|wäre) )?(?:sehr |ganz |wirklich |ja |na )*(?:gut|schön|prima|super|toll|klasse"
    r"|perfekt|wunderbar|ausgezeichnet|hervorragend|großartig|spitze|fein)(?: so)?",
    r"(?:das )?passt(?: (?:mir|für mich))?|alles klar|(?:na |ganz )?klar|geht klar|natürlich|selbstverständlich",
    r"einverstanden|(?:geht )?in ordnung|abgemacht|(?:ich )?verstehe?|verstanden|ok(?:ay)?|schon gut",
    r"tsch(?:ü|ue)ss?|ciao|auf wieder(?:sehen|hören)|bis (?:bald|dann|morgen|später|gleich|nachher)|mach['’]?s gut",
    r"(?:einen )?schönen? (?:tag|abend|feierabend|sonntag)(?: noch)?|(?:ein )?schönes wochenende",
    r"viel (?:erfolg|spaß|glück)|ebenso|gleichfalls|(?:liebe|viele|beste) grüße|mit freundlichen grüßen",
    r"juhu|hurra|ach(?: so)?|aha|oh|ah|hm+|na|dann|also|(?:das )?freut mich",
    r"tut mir (?:sehr )?leid|entschuldigung|(?:einen )?moment",
)
_SPANISH = (
    r"hola(?: a todos)?|buen(?:os|as|a)? (?:días|dia|día|tardes|noches|viaje|idea|provecho)|bienvenid[oa]s?",
    r"(?:muchas |muchísimas |mil )?gracias(?: (?:por todo|por su \w+|por tu \w+|a (?:ti|usted|vosotros)|de nuevo))*",
    r"de nada|no hay de qué|(?:con (?:mucho )?|mucho )gusto|no (?:se preocupe|te preocupes|pasa nada)|por favor",
    r"(?:me parece |suena |está )?(?:muy |qué |todo )?(?:bien|bueno|genial|estupendo|perfecto|excelente|fantástico"
    r"|maravilloso|bonito)",
    r"vale|ok(?:ay|ey)?|claro(?: que sí)?|por supuesto|de acuerdo|entendido|entiendo|listo|desde luego",
    r"adiós|chao|hasta (?:luego|mañana|pronto|la vista|entonces)|nos vemos(?: (?:pronto|mañana|luego))?",
    r"que (?:tengas?|tengan|pases?) (?:un |una )?(?:buen|muy buen|feliz)\w* \w+|igualmente|cuíd(?:ate|ese)",
    r"saludos|un (?:saludo|abrazo)|yupi|viva|guau|ja(?:ja)+|oh|ah|ay|pues",
    r"lo siento(?: mucho)?|perd(?:ón|ona|one)|disculp[ae]|encantad[oa]|(?:buena )?suerte",
)
_FRENCH = (
    r"bonjour(?: à tous)?|bonsoir|salut|coucou|rebonjour|bienvenue",
    r"bonne (?:journée|soirée|nuit|chance|continuation|idée|route|fin de journée)",
    r"bon (?:courage|voyage|week-end|appétit)|au revoir",
    r"(?:mille )?mercis?(?: (?:beaucoup|bien|infiniment|encore|à (?:vous|toi|tous)|pour (?:tout|(?:vo|t)\w+ \w+)))*",
    r"de rien|je (?:vous|t)[ '’]?en prie|avec plaisir|pas de (?:problème|souci|quoi)|(?:il n['’]y a )?pas de mal",
    r"(?:c['’]est |ça (?:me )?(?:va|semble) )?(?:très |bien )?(?:noté|parfait|super|génial|excellent|bien sûr|bien"
    r"|formidable|magnifique|bravo|chouette|bon|entendu|compris)",
    r"d['’]accord|ok(?:ay)?|volontiers|ça (?:marche|me va|roule)|je (?:comprends|vois)|évidemment|certainement",
    r"à (?:bientôt|demain|tout à l['’]heure|plus(?: tard)?|la prochaine)|prenez soin de vous|prends soin de toi",
    r"désolée?|pardon|excusez?[- ]moi|enchantée?|youpi|hourra|ha(?:ha)+|ah|oh|eh bien|alors|hein",
    r"cordialement|s['’]il (?:vous|te) pla[iî]t|vous aussi|toi aussi|de même",
)
_PORTUGUESE = (
    r"(?:olá|oi|ei|alô)(?: (?:a todos|pessoal|tudo bem))?|bo[am] (?:dia|tarde|noite|ideia|viagem|trabalho|sorte)"
    r"|bem-vind[oa]s?",
    r"(?:muito |muitíssimo )?obrigad[oa]s?(?: (?:por tudo|pel[ao] \w+|a (?:si|você|todos)|mesmo|novamente))*|valeu",
    r"de nada|não há de quê|disponha|imagina|com (?:todo o |muito )?(?:prazer|gosto)|por favor"
    r"|sem problemas?|não se preocupe",
    r"(?:(?:isso )?(?:está|é|parece|soa) )?(?:muito |tudo |que )?(?:bem|bom|boa|ótim[oa]|perfeit[oa]|excelente|certo"
    r"|legal|maravilhos[oa]|fantástic[oa])",
    r"ok(?:ay)?|claro(?: que sim)?|com certeza|combinado|entendi(?:do)?|de acordo|está bem|pois",
    r"tchau|adeus|até (?:logo|amanhã|breve|já|mais|à próxima)|(?:um )?abraço|cumprimentos|igualmente"
    r"|para (?:si|você) também",
    r"(?:tenha|tenham) (?:um |uma )?(?:bom|boa|ótim[oa]|excelente) \w+|desculp[ae]|lamento(?: muito)?|prazer",
)
_ITALIAN = (
    r"(?:ciao|salve|ehi)(?: a tutti)?|buon(?:giorno|asera|anotte)|buon[ao]? (?:giorno|giornata|sera|serata|notte|idea"
    r"|viaggio|lavoro|fortuna|appetito)|benvenut[oaie]",
    r"(?:molte |tante |mille )?grazie(?: (?:mille|tante|infinite|ancora|di (?:tutto|cuore)|a (?:te|lei|voi|tutti)"
    r"|per (?:tutto|(?:il|la|l['’]) ?\w+)))*",
    r"prego|di (?:niente|nulla)|figurati|si figuri|non c['’]è di che|con piacere|nessun problema|non (?:ti preoccupare"
    r"|si preoccupi)|per favore|per piacere",
    r"(?:(?:è|sembra|va|mi sembra) )?(?:molto |tutto |davvero |che )?(?:bene|bello|buono|ottimo|perfetto|eccellente"
    r"|fantastico|meraviglioso|benissimo|magnifico)",
    r"ok(?:ay)?|va bene|d['’]accordo|certo|certamente|capito|ho capito|intesi|chiaro|volentieri|allora",
    r"arrivederci|a (?:presto|domani|dopo|più tardi)|ci vediamo(?: (?:domani|presto))?|alla prossima"
    r"|(?:cordiali )?saluti|un abbraccio",
    r"(?:mi )?(?:dispiace|spiace)(?: molto)?|scus[ai]|piacere|altrettanto|anche a (?:te|lei|voi)",
)
_OFFERS = (
    r"(?:please )?(?:let me know if (?:you (?:have|need)|there['’]?s?)|feel free to|do(?: not|n['’]?t) hesitate to)",
    r"is there anything else|how (?:can|may) i (?:help|assist)|i['’]?(?:m| am) (?:happy|glad|here) to (?:help|assist)",
    r"if you (?:have|need) any (?:more|other|further|additional|questions|help|assistance)\b",
    r"(?:womit|wobei|was|wie) kann ich (?:ihnen|dir|euch) (?:noch |sonst )*(?:helfen|behilflich sein)",
    r"kann ich (?:(?:ihnen|dir|euch|noch|sonst|irgendwie|etwas|irgendetwas|was|für sie|für dich) )*(?:tun|helfen)",
    r"(?:melden sie|melde dich) (?:sich )?(?:gern|einfach|jederzeit)|ich helfe (?:ihnen|dir|euch)? ?gern",
    r"en qué (?:más )?(?:puedo|podemos) ayudar|(?:hay|necesitas?|puedo ayudar\w* en) algo más|puedo hacer algo más por"
    r"|no (?:dudes?|duden) en",
    r"(?:en quoi|comment) (?:puis-je|je peux|pouvons-nous) (?:vous |t['’])?aider|n['’]hésite[zs]? pas",
    r"(?:puis-je|je peux) (?:vous |t['’])?(?:aider|faire) (?:à |pour vous )?autre chose",
    r"(?:posso|podemos) ajud(?:á-l[oa]|ar)|em que (?:mais )?posso ajud|(?:não )?hesite em"
    r"|precisa de mais alguma (?:coisa|ajuda)",
    r"(?:come|in (?:che )?cosa) (?:posso|possiamo) (?:aiutar|esser)|posso (?:aiutar\w+|fare) (?:in |qualcos)?altro"
    r"|non esit(?:i|are) a",
    r"avez-vous (?:d['’]autres questions|besoin d['’]autre chose)|y a-t-il autre chose",
)
_CHINESE = (
    "你好[呀啊]?|您好|嗨|大家好|没关系|没事|真是|真的|非常|十分|太(?:好|棒)了?|太|辛苦[你您]?了?|麻烦[你您]?了?|知道了|明白了?|记下了?",
    "收到|了解了?|行|可以|好主意|没问题|当然(?:可以)?|谢谢[你您啦了啊大家]*|多谢|(?:非常)?感谢[你您]?|不用?客气|不用谢|您?太客气了",
    "再见|拜拜|回头见|明天见|下次见|晚安|早上好|下午好|晚上好|好[的呀吧嘞啊哒]|嗯+|哦+|噢|哈哈+|欢迎(?:光临)?",
    "(?:我)?没(?:有)?(?:其他|别的|什么)*(?:问题|事情?|需要)了?|不好意思|对不起|抱歉|祝[你您][^。！]*|(?:真)?棒",
    "很高兴(?:为您服务|认识[你您])|(?:请问)?(?:还)?有什么(?:其他)?(?:可以|能|需要)(?:帮助?|为)[你您][^。！]*",
)
_JAPANESE = (
    "こんにちは|こんばんは|おはよう(?:ございます)?|おやすみ(?:なさい)?|はじめまして|お世話になって(?:い|おり)ます|お世話になります",
    "(?:どうも)?(?:本当に|誠に)?ありがとう(?:ございま(?:す|した))?|どうも|どういたしまして|こちらこそ|いえいえ|とんでもない(?:です)?",
    "はい|ええ|うん|(?:では)?(?:承知|了解)(?:いた)?(?:しました|です)?|かしこまりました|[分わ]かりました|了解|そうですか|そうですね",
    "なるほど|いいですね|素晴らしい(?:です)?ね?|良かった(?:です)?|よかった(?:です)?|大丈夫です|助かります|嬉しいです|やった[ー〜]*",
    "(?:どうぞ|何卒)?(?:よろしく|宜しく)(?:お願い(?:いた|致)?します|お願い申し上げます)?|お願い(?:いた|致)?します|お疲れ様(?:です|でした)?",
    "さようなら|失礼(?:いた)?します|また(?:明日|ね|今度)|では|それでは|じゃあ|すみません|ごめん(?:なさい)?|申し訳(?:ありません|ございません)",
    "(?:他に)?(?:何か)?お(?:手伝い|困り)[^。！]*(?:ありますか|ございますか|できますか)",
)
_KOREAN = (
    "안녕(?:하세요|하십니까|히 가세요|히 계세요)?|(?:정말 |대단히 )?감사(?:합니다|드립니다|해요)|고맙습니다|고마워요?",
    "네|예|알겠습니다|알겠어요|좋아요?|좋습니다|괜찮(?:아요|습니다)|물론이(?:죠|지요)|부탁(?:드립니다|드려요|해요)|반갑습니다",
    "천만에요|수고하세요|수고하셨습니다|죄송합니다|미안(?:해요|합니다)?|또 봐요|잘 자요?",
)
_IDLE = [
    *(
        re.compile(rf"(?:{'|'.join(phrases)})(?!\w)\W*", re.IGNORECASE)
        for phrases in (_ENGLISH, _GERMAN, _SPANISH, _FRENCH, _PORTUGUESE, _ITALIAN)
    ),
    re.compile(rf"(?:{'|'.join(_OFFERS)})[^.!?\n]*\W*", re.IGNORECASE),
    *(re.compile(rf"(?:{'|'.join(phrases)})\W*") for phrases in (_CHINESE, _JAPANESE, _KOREAN)),
]
_NUMBER, _SIGNS = re.compile(r"\d"), re.compile(r"\A\W+")


def is_idle(text: str) -> bool:
    """Whether a text consists of greetings, thanks, consent and offers of help, or of nothing.

    English, German, Spanish, French, Portuguese, Italian, Chinese, Japanese and some Korean are known. Yes and no are
    mostly not idle, and a number never is.
    """
    if len(text) > _LONGEST or _NUMBER.search(text):
        return False
    left = _SIGNS.sub("", text)
    while found := [match.end() for phrase in _IDLE if (match := phrase.match(left))]:
        left = left[max(found) :]
    return not left

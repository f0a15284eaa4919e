"""Words of questions that say nothing of what is asked for, in German, Spanish, French, Japanese and Korean.

They stay in the index, which does not know the language of a message, and where `war` or `son` may mean something.
"""

import re
from collections.abc import Mapping

_ENGLISH = """
    a about above after again against all am an and any are aren as at be because been before being below between both
    but by can cannot could couldn d did didn do does doesn doing don down during each few for from further had hadn has
    hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just let ll m
    me more most mustn my myself no nor not now of off on once only or other ought our ours ourselves out over own re s
    same shan she should shouldn so some such t than that the their theirs them themselves then there these they this
    those through to too under until up ve very was wasn we were weren what when where which while who whom why will
    with won would wouldn you your yours yourself yourselves
"""
_GERMAN = """
    der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner und oder aber auch als dass
    wenn ob wie was wer wen wem wessen wo wohin woher wann warum wieso weshalb welche welcher welches welchen welchem
    wieviel viel viele ist sind war waren bin bist sein wird werden wurde wurden habe hast hat haben hatte hatten kann
    kannst können soll sollen muss müssen darf will ich du er sie es wir ihr mich mir dich dir ihn ihm uns euch ihnen
    mein meine meinen meinem meiner dein deine deinen sein seine seinen seiner ihre ihren ihrem ihrer unser unsere
    unseren in im an am auf aus bei beim bis für gegen mit nach seit über um unter von vom vor zu zum zur nicht noch
    nur schon so da dann denn doch hier dort jetzt nun sich man bitte gibt gab hoch heißt
"""
_SPANISH = """
    el la los las lo un una unos unas y e o u pero si no ni que qué quién quien quiénes cuál cual cuáles cuándo cuando
    cuánto cuánta cuántos cuántas cómo como dónde donde adónde por porque es son era eran fue fueron ser soy somos está
    están estaba estoy estamos hay había he ha han hemos tengo tiene tienen tenemos tenía puedo puede pueden yo tú él
    ella nosotros ellos ellas usted ustedes me te se nos le les mi mis tu tus su sus nuestro nuestra nuestros nuestras
    de del a al en con sin para sobre entre desde hasta más muy ya también esto este esta estos estas ese esa eso aquí
"""
_FRENCH = """
    le la les l un une des du de d et ou mais si que qu qui quoi quel quelle quels quelles quand comment où combien
    pourquoi est sont était étaient être suis sommes êtes a ai as ont avons avez avait fait faut je j tu il elle on nous
    vous ils elles me m te t se s lui leur leurs mon ma mes ton ta tes son sa ses notre nos votre vos ce c cet cette ces
    ça y en dans sur sous avec sans pour par chez vers au aux à ne n pas plus très aussi déjà doit peut
"""
_ASKING = (
    (
        re.compile("[ぁ-ヿ]"),
        re.compile(
            "どこ|どの(?:くらい|ぐらい)?|どう(?:やって|して)?|どんな|どれ|どちら|だれ|誰|いつ|いくら|いくつ|なぜ|何|なに"
            "|(?:でし|まし)たか|(?:です|ます)か|(?:でし|まし)たっけ|でしょうか|について|教えて|ください"
        ),
    ),
    (
        re.compile("[가-힣]"),
        re.compile(
            "어디(?:에서|서|로|에|야|예요|지)?|무엇[을이]?|무슨|뭐(?:야|지|였지|예요)?|뭘|누구[를가]?|누가|언제|왜|어떻게"
            "|얼마(?:나|였지|야|예요)?|몇|어느|어떤|인가요|나요|습니까|(?:했|였|었)(?:지|어|나요)"
        ),
    ),
)
"""By a sign of Japanese and of Korean, what asks in it. In pairs of characters, this would be half of all terms."""
_MEANS_ELSEWHERE = "die war man hat bin bist will hoch gab hast sin son era sobre pour sur fait chez plus on as the"
"""Words that do not tell a language, because they mean something in English."""

ENGLISH = frozenset(_ENGLISH.split())
"""English stop words, which are left out of the index too."""
_LISTS = [frozenset(words.split()) for words in (_GERMAN, _SPANISH, _FRENCH)]
_WORD = re.compile(r"[^\W\d_]+")
_MARKERS: Mapping[frozenset[str], frozenset[str]] = {
    own: own.difference(ENGLISH, _MEANS_ELSEWHERE.split()) for own in _LISTS
}
_ENGLISH_ALONE = ENGLISH.difference(*_LISTS)


def without_asking(question: str) -> str:
    """The question without Japanese and Korean words that only ask."""
    for sign, asking in _ASKING:
        question = asking.sub(" ", question) if sign.search(question) else question
    return question


def stop_words(question: str) -> frozenset[str]:
    """The stop words of the languages that a question is most likely in; none if it is more likely English."""
    words = _WORD.findall(question.lower())
    counted = {own: sum(map(markers.__contains__, words)) for own, markers in _MARKERS.items()}
    most = max(counted.values())
    if most <= sum(map(_ENGLISH_ALONE.__contains__, words)):
        return frozenset()
    return frozenset[str]().union(*(own for own, times in counted.items() if times == most))

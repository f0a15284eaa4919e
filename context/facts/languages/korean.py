"""Korean."""

from purser.context.facts.languages.language import Language
from purser.context.facts.values import ALLERGY, Kind

_NEVER = r"(?!)"
_PERSON = (
    r"(?:딸|아들|아내|남편|와이프|엄마|아빠|어머니|아버지|부모님|형|누나|오빠|언니|동생|친구|여자친구|남자친구|아이)"
)
_WHO = rf"(?:(?:(?:제|내|우리) )?(?P<of>{_PERSON})(?:에게는|한테는|는|은|이|가|도) )?"
_ADVERB = r"(?:(?:정말|너무|아주|제일|가장|이제|더 이상|더는|전혀|안|별로) )*"
_DENIED = r"(?: (?:않|못)[가-힣]*)?"

KOREAN = Language(
    values={
        Kind.DATE: (
            r"(?:\d{4}년\s?)?\d{1,2}월(?:\s?\d{1,2}일)?|어제|내일|모레|지난\s?(?:주|달|해)|다음\s?(?:주|달|해)"
            r"|작년|내년"
            r"|[월화수목금토일]요일"
        ),
        Kind.TIME: r"(?:(?:오전|오후|아침|저녁|밤)\s?)?(?<!\d)\d{1,2}시(?!간)(?:\s?반|\s?\d{1,2}분)?",
        Kind.MONEY: r"(?<![\d,])\d(?:[\d,]*\d)?(?:\.\d+)?\s?(?:만\s?원|원)",
        Kind.ADDRESS: r"[가-힣]+(?:로|길)\s?\d{1,4}(?:-\d+)?(?:번지)?(?![가-힣])",
        Kind.NUMBER: r"(?<![\d.])\d+(?:\.\d+)?\s?(?:명|개|살|시간|번)",
        Kind.NAME: "",
    },
    owned=r"(?:(?P<whose>제|내|우리)\s)?(?P<noun>[가-힣]{2,8}?)(?P<verb>은|는|을|를)\s?",
    selves=frozenset({"제", "내", "우리"}),
    others=frozenset(),
    articles=frozenset(),
    statements={
        Kind.PREFERENCE: (
            (
                "",
                rf"{_WHO}([^，。！？、,.!?\s]{{1,12}}?)[을를이가]? {_ADVERB}(?:좋아|싫어|못 먹)[가-힣]*{_DENIED}",
            ),
            (
                ALLERGY,
                rf"{_WHO}([^，。！？、,.!?\s]{{1,12}}) 알레르기[가-힣]*(?: {_ADVERB}(?:있|없|아니)[가-힣]*{_DENIED})?",
            ),
        ),
        Kind.NEGATION: (("rules out", r"\S{1,20} ?지 (?:마|말)[가-힣]*|\S{1,20} 금지"),),
        Kind.DECISION: (("decides", r"\S{1,20} ?(?:하기로 했|로 결정)[가-힣]*"),),
    },
    replacing=(
        r"(?P<old>[^,.!?]{1,20}?)(?:이|가)? 아니라 (?P<new>[^,.!?]{1,20}?)(?=예요|이에요|입니다|로|\.|$)",
        r"(?P<old>[^,.!?]{1,20}?)에서 (?P<new>[^,.!?]{1,20}?)(?:으로|로) (?:변경|바꿔|옮겨)",
    ),
    denying=(),
    cue=r"정정:?",
    cue_after=r"^(?:으로|로) (?:변경|바꿔|바꾸|옮겨|미뤄|해)",
    interjection=r"아니(?:요)?,",
    alternative=_NEVER,
    changed=r"대신",
    unsure=r"만약|지 마|싶어 ?[하해]|원[해합]|제안[해합했]",
    farewell=r"(?:내일|다음\s?주(?:에)?|[월화수목금토일]요일에) (?:봐|만나|뵙|또)[가-힣]*",
)

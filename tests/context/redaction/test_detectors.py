"""Detectors on realistic texts: what they find and what they leave alone."""

import pytest

from purser.context.redaction import Redactor

FOUND = {
    "EMAIL": [
        "write to <jane.doe+news@mail.example.co.uk>",
        "联系<zhang.san@example.com>或者打电话",
        "我的邮箱：<用户@例子.公司>，谢谢",
        "<пользователь@пример.рф> и",
        "to: <user@xn--bcher-kva.example>",
        "'<o'neil@example.com>'",
        'author_email="<a@b.io>"',
        "<ｊｏｅ＠ｅｘａｍｐｌｅ．ｃｏｍ>",
        '<"john doe"@example.com> wrote',
        "mail for <root@localhost>",
        "mail:<jane99@example.com>",
        "user=<jane%40example.com>&n=1",
        "write to <jane&#64;example.com>",
        "<jane.doe (at) example (dot) com>",
        "<jane at example dot com>",
    ],
    "CARD": [
        "card <4111 1111 1111 1111> exp 12/26",
        "<5500-0000-0000-0004>.",
        "amex <3782 822463 10005>",
        "卡号<6222020200112233446>。",
        '{"card_number": <4111111111111111>}',
        "<4111 1111 1111 1111> 123",
        "<４１１１　１１１１　１１１１　１１１１>",
        "<4111 1111\n1111 1111>",
        "card <41111111\n11111111>",
        "<4111\u200b1111\u200b1111\u200b1111>",
        "<4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1>",
        "<4111/1111/1111/1111>",
        "<4111_1111_1111_1111>",
        "visa<4242424242424242>",
    ],
    "IBAN": [
        "iban<DE89370400440532013000>",
        "<DE89.3704.0044.0532.0130.00>",
        "<DE89 3704 0044\n0532 0130 00>",
        "to <DE89 3704 0044 0532 0130 00> please",
        "iban: <gb29nwbk60161331926819>",
        "<FR14 2004 1010 0505 0001 3M02 606>",
    ],
    "SSN": ["his is <536-22-1234>", "SSN: <536221234>", "social security number <536 22 1234>", "<123.45.6789>"],
    "NATIONAL_ID": ["身份证号<11010519491231002X>，", "<440524188001010014>", "id <11010519491231002x>"],
    "API_KEY": [
        "OPENAI_API_KEY=<sk-proj-abcDEF123456789012345678>",
        "<AKIAIOSFODNN7EXAMPLE>",
        "aws_secret_access_key = <wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY1>",
        "git clone https://<ghp_16C7e42F292c6912E7710c838347Ae178B4a>@github.com/x/y",
        "Authorization: Bearer <abcdef1234567890abcd>",
        "token <eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r>",
        "<xoxb-123456789012-abcdefABCDEF>",
        'api_key: "<0123456789abcdef>"',
        "接口密钥：<a1b2c3d4e5f6>",
        "Cookie: session=<8f14e45fceea167a5a36dedd4bea2543>; theme=dark",
        "PHPSESSID=<r2t5uvjq435r4q7ib3vtdjq120>",
        "<AIzaSyA1234567890abcdefghijklmnopqrstuv>",
        "<-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234\nabcd==\n-----END RSA PRIVATE KEY----->\nafter",
        "cut off: <-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234abcd\nMIIEowIBAAKCAQEA1234abcd>\n\nafter it",
    ],
    "SECRET": [
        "비밀번호는 <abcd1234> 입니다",
        "비밀번호가 <abcd1234>예요",
        "pwd <hunter22!>",
        "mdp <Soleil99>",
        "CVV <123>",
        "gültig bis 12/27, CVC: <7781>",
        '{"cvv": <123>, "pin": "<4821>"}',
        "security code: <917>",
        "código de seguridad: <917>",
        "PIN: <4821>",
        "my pin is <4821>",
        "meine PIN lautet <482193>",
        "mi PIN es <4821>",
        "mon code PIN est <4821>",
        "PIN码是<4821>",
        "PINは<4821>です",
        "password: <hunter2>",
        "Password: <swordfish>\n",
        "**Password:** <Tr0ub4dor&3>",
        'my password is <p@ssw0rd1!>, keep it',
        '{"api_secret": "<x9>"}',
        "{\\\"password\\\": \\\"<correct horse>\\\"}",
        "DB_PASSWORD=<swordfish>",
        "client_secret='<abc def>'",
        "密码：<Abc12345>",
        "密码是<Abc12345>，别告诉别人",
        "postgres://bob:<s3cr3t>@db.example.com:5432/x",
        "password = '<swordfish>'",
        "pwd: <a@b.com!x9>",
        "pass: <hunter2>",
        "admin:<Sup3rS3cret>@db.example.com",
        "postgres://app:<p@ss>@db/app",
        "curl -u admin:<Sup3rS3cret> https://x",
        "mysql -u root -p<S3cretPw> shop",
        "--password <tr0ub4dor> -h db",
        "login jane password <netrc_pw1>",
        "password for the router: <abc123>",
        "IDENTIFIED BY '<Str0ng!>'",
    ],
    "IP": [
        "from <203.0.113.7>:8080",
        "http://<10.0.0.1>/x",
        "<10.1.2.3>/24",
        "at <2001:db8::8a2e:370:7334>.",
        "[<fe80::1>]:443",
        "<::1>",
        "<6e40:4041:c617:e898:c11:40d2:c669:2eb4> blocked",
        "服务器<192.168.1.20>无响应",
        "ip=<203.0.113.7>",
        "Rocket <3.17.2.1>:443",
        "<45.33.32.15> - - [12/Mar/2024]",
        "<203.0.113.1>-<203.0.113.20>",
    ],
    "PHONE": [
        "call <+1 (415) 555-0132 x12> now",
        "<001-253-366-9781>",
        "<(602)272-9781>",
        "<259.735.7502x459>",
        "desk <+41 (0)96 471 07 95>",
        "<03.93.92.16.85>",
        "Phone:\n<467 3395>\n",
        "They're not answering at <78 651 450>",
        "手机<13812345678>，座机<010-63553377>",
        "电话是<67010327>,<4006662000>和<58285215>。",
        "tel:<+442079460958>",
        "\\n<13812345678>\\n",
        '{"phone": <13812345678>}',
        "<138-1234-5678>",
        "电话<88681188-6808>",
        "<555 0142> office",
        "<030 901820>-Fax",
        "Rufen Sie mich unter <030 / 1234 5678> an",
        "Tel. <0211 / 90182-0>",
        "call <555 0142> / <555 0143>",
        "<5550142> is my new number",
        "llámame al <612 345 678>",
        "<8-800-555-35-35>",
        "<0612345678>",
        "wa.me/<14155550132>",
        "<852-2345-6789>",
        "一 <一三八零零一三八零零零>",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("label", "marked"), [(label, text) for label, texts in FOUND.items() for text in texts])
def test_it_is_found_whole_and_with_its_label(label: str, marked: str) -> None:
    text = marked.replace("<", "").replace(">", "")
    expected, count = "", 0
    for part in marked.replace(">", "<").split("<"):
        expected += part if not count % 2 else f"[{label}_{count // 2 + 1}]"
        count += 1
    redactor = Redactor()
    assert redactor.redact(text) == expected
    assert redactor.counts == {label: count // 2}


LEFT_ALONE = [
    # numbers that fail their check, and are then no phone number either
    "card 4111 1111 1111 1112, call me",
    "phone or card: 4111111111111112",
    "3782 822463 10006",
    "DE89 3704 0044 0532 0130 01",
    "身份证11010519491231002X1，110105194912310021",
    "SSN 666-12-3456 and 000-12-3456, call",
    # dates, times, ids, versions, prices
    "call on 2024-05-20 at 15:00:00 or 05/20/2024",
    "messages from 2019-2020, 20240520 and 20240520101530",
    "message 1234567 of thread 7, messages 1234567-1234570, message #5550142",
    "phone 550e8400-e29b-41d4-a716-446655440000",
    "Call me about order 415-555-0132",
    "Order number: 4155550132",
    "订单号：13812345678",
    '{"id": 13812345678, "order_id": "13812345678", "created": 1716200000000}',
    "v1.2.3.4, version 1.2.3.4, Chrome/120.0.0.0, foo==1.2.3.4 and 版本1.2.3.4",
    "电话在version 0.0.0.0开通",
    "the phone costs $1,234,567.89 or 1234567元",
    "commit 1234567890abcdef, a1b2c3d4e5f6, 0x13812345678",
    "价格在400-500元，评分4.5，2018-02-14至2018-02-16",
    "12:30:45, 00:1a:2b:3c:4d:5e, std::vector, dead::beef, items[1::2], a[::2]",
    "999.1.1.1 and 1.2.3.4.5",
    "3.14159265358979 1234567.891 40.712776, -74.005974",
    "pages 1234-5678, DOI 10.1016/S0019-1035(22)00489-4",
    # words about secrets, and code
    "secret management, password reset and a token bucket",
    "The password is required. Your password was changed. The secret is out.",
    "密码重置，密码是什么？密码：必填",
    "secret = get_secret()",
    "password = os.environ['PASSWORD']",
    "password = getpass.getpass()",
    "password: str = Field(...)",
    "api_key = settings.providers.key1",
    'api_key="YOUR_API_KEY", password="${DB_PASSWORD}", password: <your password>',
    "password=None, secret: null, token=True",
    "max_tokens=4096, tokens: 1234",
    "sk-learn-contrib-is-a-collection",
    "Bearer authentication is used",
    "비밀번호는 8자 이상입니다. 비밀번호가 틀렸습니다.",
    "cd x && pwd /home/user1, pwd && ls2, pw reset",
    "PIN code: 560034, GPIO pin 13, LED_PIN = 2048, spin: 4821, PIN vergessen",
    "The CVV is on the back, the security code has 123 signs",
    # numbers of things, and of products
    "Call me when 5551234 units are sold, rufen Sie mich an, wenn 5551234 Stück da sind",
    "llámame cuando haya 5551234 unidades, appelez-moi à 5551234 pièces",
    "Telefone der Baureihe 3310 8210, teléfono modelo 3310 8210, téléphone de la série 3310 8210",
    # what looks like an address
    "open 0800-1700, call 0900-1730",
    "IMEI 490154203237518",
    "WP Rocket 3.17.2.1, upgraded to 3.17.2.1, バージョン 3.17.2.1",
    "numba  0.60.0\nninja  1.11.1.2\nnumpy  1.26.4",
    "Mystic, CT 06385-3823, call",
    "git@github.com:team/app.git, getty@tty1.service, logo@2x.png",
    "ca-pub-4203199530552030, ad id 6011130787161685",
    "电话会议号 12345678，第020-38888号",
    "电话会议 12345678",
    "bolts of 49-0000-0000 and 33-0000-0000",
    "Cookie: theme=dark1234; lang=en-US-1",
    "3 call sites: 1234567 bytes, contact lens 8601234",
    "pass: 12345ms, boarding pass: QR12AB, tests pass: 97.5%",
    "docker run -u 1000:1000 -p3306:3306 mysql -p shop",
    "04 15 23 42 51 58",
    "session_id=7d1f2c3a-0b4e-4f5a-9c6d-8e7f6a5b4c3d",
    "3:4:5::6",
    "pkg@1.2.3, @pytest.mark, git@host:team/app.git",
]  # fmt: skip


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_it_is_left_alone(text: str) -> None:
    assert Redactor().redact(text) == text


@pytest.mark.parametrize(
    "label",
    [
        "password", "PASSWD", "passphrase", "Passcode", "pwd", "client_secret", "密码", "密碼", "口令", "密钥", "秘钥",
        "暗号", "パスワード", "비밀번호", "패스워드", "암호", "contraseña", "CONTRASEÑA",
        "mot de passe", "Passwort", "KENNWORT", "senha",
        "пароль", "ПАРОЛЬ", "wachtwoord", "hasło", "lösenord", "şifre", "पासवर्ड", "كلمة المرور", "mật khẩu",
        "MẬT KHẨU", "kata sandi", "pass", "pw", "pswd", "passw", "CLAVE", "pasw", "mdp", "psw",
    ],
)  # fmt: skip
def test_passwords_are_found_after_every_label(label: str) -> None:
    assert Redactor().redact(f"{label}: hunter2!9xQ") == f"{label}: [SECRET_1]"


@pytest.mark.parametrize(
    "label", ["api_key", "API KEY", "signing-key", "refresh_token", "session cookie", "接口密钥", "访问秘钥", "令牌"]
)
def test_keys_are_found_after_every_label(label: str) -> None:
    assert Redactor().redact(f"{label}: 9f8a7b6c5d4e") == f"{label}: [API_KEY_1]"

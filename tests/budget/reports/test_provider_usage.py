"""Usage files as OpenAI and Anthropic export them."""

import json
from datetime import date

import pytest

from purser.budget.errors import InvalidRequest
from purser.budget.reports.provider_usage import ProviderUse, plain_model, read_usage_file

DAY = date(2026, 11, 20)
OPENAI_CSV = """start_time,end_time,start_time_iso,end_time_iso,project_id,num_model_requests,user_id,api_key_id,model,\
batch,input_tokens,output_tokens,input_cached_tokens
1763596800,1763683200,2026-11-20T00:00:00+00:00,2026-11-21T00:00:00+00:00,proj_1,3,,key_1,gpt-4o-2024-08-06,False,900,100,400
"""
OPENAI_JSON = {
    "object": "page",
    "data": [
        {
            "object": "bucket",
            "start_time": 1795132800,
            "end_time": 1795219200,
            "results": [
                {
                    "object": "organization.usage.completions.result",
                    "input_tokens": 900,
                    "output_tokens": 100,
                    "input_cached_tokens": 400,
                    "num_model_requests": 3,
                    "project_id": None,
                    "model": "gpt-4o-2024-08-06",
                }
            ],
        },
        {"object": "bucket", "start_time": 1795219200, "end_time": 1795305600, "results": []},
    ],
    "has_more": False,
    "next_page": None,
}
ANTHROPIC_JSON = {
    "data": [
        {
            "starting_at": "2026-11-20T00:00:00Z",
            "ending_at": "2026-11-21T00:00:00Z",
            "results": [
                {
                    "uncached_input_tokens": 500,
                    "cache_creation": {"ephemeral_1h_input_tokens": 100, "ephemeral_5m_input_tokens": 50},
                    "cache_read_input_tokens": 250,
                    "output_tokens": 100,
                    "model": "claude-sonnet-4-5-20250929",
                }
            ],
        }
    ],
    "has_more": False,
}
ANTHROPIC_CSV = """usage_date_utc,model_version,api_key,workspace,usage_type,usage_input_tokens_no_cache,\
usage_input_tokens_cache_write_5m,usage_input_tokens_cache_write_1h,usage_input_tokens_cache_read,usage_output_tokens
2026-11-20,claude-sonnet-4-5-20250929,main,Default,standard,500,50,100,250,100
"""
REQUESTS_CSV = """request_id,timestamp,model,input_tokens,output_tokens
req_1,2026-11-20T12:00:00Z,gpt-4o,90,10
"""
REQUESTS_LINES = (
    '{"request_id": "req_1", "created": 1795176000, "model": "gpt-4o", "prompt_tokens": 90, "completion_tokens": 10}\n'
    '{"request_id": "req_2", "model": "claude-x", "usage": {"input_tokens": 5, "output_tokens": 2, '
    '"cache_read_input_tokens": 3, "cache_creation_input_tokens": 0}}'
)
OPENAI_SUM = ProviderUse("", DAY, "gpt-4o", 3, 1_000)
ANTHROPIC_SUM = ProviderUse("", DAY, "claude-sonnet-4-5", None, 1_000)


@pytest.mark.parametrize(
    ("text", "form", "uses"),
    [
        (OPENAI_CSV, "openai", [OPENAI_SUM]),
        ("\ufeff" + OPENAI_CSV, "openai", [OPENAI_SUM]),
        (json.dumps(OPENAI_JSON), "openai", [OPENAI_SUM]),
        (json.dumps([OPENAI_JSON | {"has_more": True}, OPENAI_JSON]), "openai", [OPENAI_SUM] * 2),
        (f"{json.dumps(OPENAI_JSON | {'has_more': True})}\n{json.dumps(OPENAI_JSON)}", "openai", [OPENAI_SUM] * 2),
        (json.dumps(ANTHROPIC_JSON), "anthropic", [ANTHROPIC_SUM]),
        (ANTHROPIC_CSV, "anthropic-csv", [ANTHROPIC_SUM]),
        (REQUESTS_CSV, "requests", [ProviderUse("req_1", DAY, "gpt-4o", 1, 100)]),
        (
            REQUESTS_LINES,
            "requests",
            [ProviderUse("req_1", DAY, "gpt-4o", 1, 100), ProviderUse("req_2", None, "claude-x", 1, 10)],
        ),
    ],
)
def test_a_file_is_read_as_it_is_exported(text: str, form: str, uses: list[ProviderUse]) -> None:
    found = read_usage_file(text)
    assert (found.format, list(found.uses)) == (form, uses)
    assert found.by_request == (form == "requests")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "no line of usage"),
        ("date,cost\n2026-11-20,3.50\n", "of no known usage file"),
        ('{"object": "page", "data": [], "has_more": false}', "no line of usage"),
        (json.dumps(OPENAI_JSON | {"has_more": True}), "lacks the last page"),
        (json.dumps([OPENAI_JSON | {"has_more": True}] * 2), "lacks the last page"),
        ("[1, 2]", "no list of objects"),
        ('{"a": 1}\nnot json', "line 2"),
        ("[" * 100_000, "line 1 .*nested too deeply"),
        (REQUESTS_CSV + "req_2,2026-11-20,gpt-4o,9,1,5\n", "line 2 .*more columns than the header"),
        ("a,b\n1,2,3\n", "line 1 .*more columns than the header"),
        (REQUESTS_CSV + f"req_2,2026-11-20,{'x' * 200_000},9,1\n", "line 2 .*field"),
        (REQUESTS_CSV.replace("90", "9" * 5_000), "line 1 .*input_tokens is '999"),
        (OPENAI_CSV.replace("2026-11-20T00:00:00+00:00", "9" * 20), "line 1 .*start_time_iso is '999.*not a time"),
        (REQUESTS_CSV.replace("2026-11-20T12:00:00Z", "0001-01-01T00:00+01:00"), "line 1 .*timestamp is .*not a time"),
        (REQUESTS_CSV.replace("req_1", "req\0"), "line 1 .*request_id is .*not a name"),
        (REQUESTS_CSV.replace("gpt-4o", "gpt\ud800"), "line 1 .*model is .*not a name"),
        (
            json.dumps([{"starting_at": "2026-11-20", "model": "m", "uncached_input_tokens": 1, "cache_creation": 5}]),
            "line 1 .*cache_creation is not an object",
        ),
        (OPENAI_CSV.replace("900", "many"), "line 1 .*input_tokens is 'many'"),
        (OPENAI_CSV.replace("gpt-4o-2024-08-06", ""), "grouped by model"),
        (ANTHROPIC_CSV.replace("2026-11-20", "yesterday"), "line 1 .*usage_date_utc is 'yesterday', not a time"),
        (REQUESTS_CSV.replace("req_1", ""), "request_id is empty"),
    ],
)
def test_any_other_file_is_an_error_that_names_line_and_column(text: str, named: str) -> None:
    with pytest.raises(InvalidRequest, match=named):
        read_usage_file(text)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("gpt-4o", "gpt-4o"),
        ("openai/gpt-4o-2024-08-06", "gpt-4o"),
        ("anthropic/claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("gpt-4o-mini", "gpt-4o-mini"),
        ("gpt-3.5-turbo-0125", "gpt-3.5-turbo"),
        ("gpt-3.5-turbo-16k-0613", "gpt-3.5-turbo-16k"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4-1106-preview", "gpt-4-1106-preview"),
        ("o1-preview-2024-09-12", "o1-preview"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
        ("vertex_ai/claude-3-5-sonnet@20240620", "claude-3-5-sonnet"),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet"),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("anthropic.claude-v2:1", "claude-v2:1"),
        ("mistral-large-2411", "mistral-large-2411"),
        ("gemini-exp-1206", "gemini-exp-1206"),
    ],
)
def test_snapshots_of_a_model_are_one_model(name: str, plain: str) -> None:
    assert plain_model(name) == plain

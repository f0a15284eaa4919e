"""The model provider that Purser ships: a real HTTP server on loopback that speaks the OpenAI chat protocol.

It answers from recordings, from a script, or with a short default text; embeds texts; counts, caches and reports usage
as providers do; fails on request in the ways providers fail; and writes its own log of every request.
"""

from purser.compose.demo.provider.errors import ProviderError, RecordingError, ScriptError
from purser.compose.demo.provider.recorded import Recording, ToolResult, read_recordings
from purser.compose.demo.provider.script import Fault, FaultKind, Match, Reply, Rule, Script, read_script
from purser.compose.demo.provider.service_log import Arrival, End, Outcome, Served, ServiceLog, charged_tokens, read_log
from purser.compose.demo.provider.serving import Provider, serve_provider
from purser.compose.demo.provider.wire import FunctionCall, ToolCall, Usage

__all__ = [
    "Arrival",
    "End",
    "Fault",
    "FaultKind",
    "FunctionCall",
    "Match",
    "Outcome",
    "Provider",
    "ProviderError",
    "Recording",
    "RecordingError",
    "Reply",
    "Rule",
    "Script",
    "ScriptError",
    "Served",
    "ServiceLog",
    "ToolCall",
    "ToolResult",
    "Usage",
    "charged_tokens",
    "read_log",
    "read_recordings",
    "read_script",
    "serve_provider",
]

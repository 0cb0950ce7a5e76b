"""OpenAI's chat completions, typed: the fields of a request and of an answer."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, model_validator
from pydantic_core import PydanticCustomError


def _as_text(value: object) -> str:
    # Pydantic's own check refuses half a surrogate pair: how an answer ends that was cut off within an emoji.
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "should be a text")
    return value


Text = Annotated[str, PlainValidator(_as_text)]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Content = Text | list[Text | dict[str, Any]] | None
Limit = Annotated[int, Field(ge=1, lt=2**31)]


class _ChatModel(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False, protected_namespaces=())


class _MessageFields(_ChatModel):
    content: Content = None
    refusal: Text | None = None
    tool_calls: list[dict[str, Any]] | None = None
    function_call: dict[str, Any] | None = None


class Message(_MessageFields):
    """A message of a request. Its bytes bound what it costs, but for media."""

    role: Text


class StreamOptions(_ChatModel):
    """How a stream ends."""

    include_usage: bool | None = None


class ChatBody(_ChatModel):
    """A request for a chat completion; docs/serve.md says what each field may cost."""

    model: Text
    messages: Annotated[list[Message], Field(min_length=1, max_length=10_000)]
    n: Annotated[int, Field(ge=1)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_completion_tokens: Limit = 0
    """The limit of output, reasoning included. Unlike other fields it cannot be null; 0 stands for none given."""
    max_tokens: Limit = 0
    prediction: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    functions: list[dict[str, Any]] | None = None
    response_format: dict[str, Any] | None = None
    service_tier: Text | None = None
    web_search_options: dict[str, Any] | None = None
    modalities: list[Text] | None = None
    audio: dict[str, Any] | None = None
    reasoning_effort: Text | None = None
    verbosity: Text | None = None
    store: bool | None = None
    metadata: dict[str, Any] | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: Whole | None = None
    stop: Text | list[Text] | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: bool | None = None
    top_logprobs: Whole | None = None
    parallel_tool_calls: bool | None = None
    tool_choice: Text | dict[str, Any] | None = None
    function_call: Text | dict[str, Any] | None = None
    prompt_cache_key: Text | None = None
    prompt_cache_retention: Text | None = None
    safety_identifier: Text | None = None
    user: Text | None = None


class AnswerMessage(_MessageFields):
    """What a model says; it has a role or content."""

    role: Text | None = None

    @model_validator(mode="after")
    def _is_there(self) -> Self:
        if not {"role", "content"} & self.model_fields_set:
            raise ValueError("has neither role nor content")
        return self


class DrawnChoice(_ChatModel):
    """One candidate."""

    message: AnswerMessage
    finish_reason: Text | None = None


class Completion(_ChatModel):
    """An answer of the upstream; each of its choices is read by itself, so that a bad one fails alone."""

    choices: Annotated[list[Any], Field(min_length=1)]
    usage: Any = None

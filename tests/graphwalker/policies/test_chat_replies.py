"""Failures inside an HTTP 200, in the forms that servers send them, over real HTTP."""

from test_chat_api import ask

from graphwalker.errors import FilteredError, HopelessError, PolicyError
from graphwalker.policies.base import Completion
from support.chat_server import Act

TOP = {"error": {"code": 502, "message": "Provider returned error"}}
WRITTEN = {"prompt_tokens": 10, "completion_tokens": 20}


def choice(content, finish, **more):
    """A completion of one choice; `reasoning_content` and the like go into the message."""
    outside = {key: more.pop(key) for key in ("error",) if key in more}
    message = {"role": "assistant", "content": content, **more}
    return {"choices": [{"message": message, "finish_reason": finish, **outside}], "usage": WRITTEN}


RETRIED = {
    "OpenRouter: error at the top": TOP,
    "OpenRouter: error in the choice": choice("", "error", error={"code": 502, "message": "down"}),
    "OpenRouter: nothing written": {**choice("", "stop"), "usage": {"completion_tokens": 0}},
    "LiteLLM: no choices, but tokens": {"choices": [], "usage": WRITTEN},
    "vLLM: abort": choice("half", "abort"),
    "DeepSeek: no resources": choice("", "insufficient_system_resource"),
    "no text and no reason": choice(None, None),
    "an error of words": {"error": "upstream connect error"},
}
OWN = {
    "vLLM: cut while reasoning": (choice(None, "length", reasoning="Let me"), ""),
    "vLLM: all of it in the reasoning": (choice(None, "stop", reasoning_content="So."), ""),
    "OpenAI: refusal": (choice(None, "stop", refusal="I cannot help."), "I cannot help."),
    "Mistral: parts": (choice([{"type": "text", "text": "so"}], "stop"), "so"),  # type: ignore[arg-type]
    "error: null": ({**choice("so", "stop", error=None), "error": None}, "so"),
}


def test_what_may_pass_is_retried_and_then_set_aside():
    for form, body in RETRIED.items():
        result, server = ask(Act(body=body), retries=1)
        assert isinstance(result, PolicyError), form
        assert "in an HTTP 200" in str(result) and len(server.requests) == 2, form


def test_what_a_filter_keeps_back_is_set_aside_at_once():
    for body in (
        choice("", "content_filter"),
        choice("half a te", "content_filter"),
        choice(None, "sensitive"),
        {"error": {"code": 403, "message": "Your input was flagged"}},
        {"error": {"code": "content_filter", "message": "filtered"}},
    ):
        result, server = ask(Act(body=body))
        assert isinstance(result, FilteredError) and len(server.requests) == 1, body


def test_only_a_filter_is_the_fault_of_one_prompt():
    azure = {"error": {"code": "content_filter", "message": "The response was filtered"}}
    assert isinstance(ask(Act(status=400, body=azure))[0], FilteredError)
    wrong = {"error": {"code": "invalid_request", "message": "unknown field seed"}}
    assert not isinstance(ask(Act(status=400, body=wrong))[0], FilteredError)


def test_what_a_model_did_itself_is_its_turn(caplog):
    for form, (body, text) in OWN.items():
        result, server = ask(Act(body=body))
        assert isinstance(result, Completion) and result.text == text, form
        assert not result.context_full and len(server.requests) == 1, form
    assert "tiny: 1 of 1 turns were empty: raise max_tokens" in caplog.text  # as it closes


def test_a_refusal_of_every_request_inside_a_200_ends_the_run():
    result, _ = ask(Act(body={"error": {"code": 402, "message": "Insufficient credits"}}))
    assert isinstance(result, HopelessError)


def test_a_full_context_inside_a_200_is_the_agents_end():
    body = {"error": {"message": "This model's maximum context length is 4096 tokens"}}
    result, _ = ask(Act(body=body))
    assert isinstance(result, Completion) and result.context_full

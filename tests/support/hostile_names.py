"""420 names that try to be something else: 21 fragments in 20 settings."""

FRAGMENTS = (
    "</answer>", "<answer>", "</kg-query>", "<kg-query>", "</search>", "<information>", "</think>",
    "<tool_call>", "</tool_call>", "</tool_response>", "<tools>", "<|im_end|>", "<|eot_id|>",
    "</s>", "Final answer: {x}", '{"name": "search"}', "$1", "{question}", "\\u003c/answer>",
    "`|--|`", "<script>alert(1)</script>",
)  # fmt: skip
SETTINGS = (
    "{}", "a {}", "{} b", "a {} b", "{}{}", '"{}"', "'{}'", "[{}]", "({})", "{},", "\\{}", "{}\\",
    "a\n{}", "{}\tb", "é {}", "e\u0301{}", "{}\u202e", "a: {}", "1. {}", "# {}",
)  # fmt: skip
HOSTILE_NAMES = tuple(
    setting.replace("{}", fragment) for fragment in FRAGMENTS for setting in SETTINGS
)

"""Programs in completions: one example at least for each way in which models write them."""

from __future__ import annotations

import ast
import threading
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.core import Program, Task
from codegym.errors import ConfigError
from codegym.grading import source
from codegym.grading.extract import extract_code

TASK = Task(id="t/0", prompt="Write a function f(x) that returns x + 1.", entry_point="f")
SCRIPT = Task(id="t/1", prompt="Read a number and print its double.")
CODE = "def f(x):\n    return x + 1\n"
OTHER = "def f(x):\n    return x + 2\n"
HUMANEVAL = Task(
    id="t/2",
    prompt="""from typing import List


def g(x: int) -> int:
    return -x


def f(xs: List[int]) -> int:
    ''' Sum.
    >>> f([1])
    1
    '''
""",
    entry_point="f",
)
LEETCODE = Task(
    id="t/3",
    prompt="Write Solution.f.",
    entry_point="Solution.f",
    starter_code="from typing import *\n\nclass Solution:\n    def f(self, xs: List[int]) -> int:\n        ",
)


def code_of(completion: str, task: Task | None = TASK, **options: str) -> str | None:
    program = extract_code(completion, task, **options)  # type: ignore[arg-type]
    return None if program is None else program.code


def run(code: str | None, name: str, *args: object) -> object:
    assert code is not None
    names: dict[str, object] = {}
    exec(code, names)
    if "." in name:
        owner, method = name.split(".")
        return getattr(names[owner](), method)(*args)  # type: ignore[operator]
    return names[name](*args)  # type: ignore[operator]


DOCSTRING_FENCE = 'def f(x):\n    """Add one.\n\n    ```\n    f(1) == 2\n    ```\n    """\n    return x + 1\n'
DOCSTRING_PYTHON_FENCE = (
    'def f(x):\n    """Add one.\n\n    ```python\n    f(1)\n    ```\n    """\n    return x + 1\n'
)

SAME_CODE = {
    "plain": CODE,
    "python fence": f"```python\n{CODE}```",
    "py fence": f"```py\n{CODE}```",
    "Python3 fence": f"```Python3\n{CODE}```",
    "python fence with attributes": f"```{{.python .numberLines}}\n{CODE}```",
    "fence with a space": f"``` python\n{CODE}```",
    "bare fence": f"```\n{CODE}```",
    "tilde fence": f"~~~python\n{CODE}~~~",
    "bare tilde fence": f"~~~\n{CODE}~~~",
    "four back-ticks": f"````python\n{CODE}````",
    "four back-ticks around three": f"````markdown\n```python\n{CODE}```\n````",
    "fence behind text": f"Here you are: ```python\n{CODE}```",
    "text around": f"Sure! Here is the code:\n\n```python\n{CODE}```\n\nIt doesn't fail. Let me explain: x.",
    "unclosed fence": f"Sure:\n```python\n{CODE}",
    "unclosed fence, then prose": f"```python\n{CODE}\nThis function adds one to x, doesn't it?\n",
    "last of several": f"```python\n{OTHER}```\nBetter:\n```python\n{CODE}```",
    "last that defines it": f"```python\n{CODE}```\nUse it so:\n```python\nprint(f(1))\n```",
    "last that parses": f"```python\n{CODE}```\nor\n```python\ndef f(x:\n```",
    "last that is whole": f"```python\n{CODE}```\nor\n```python\ndef f(x):\n    y = 3\n",
    "other languages": f"```python\n{CODE}```\n```bash\npython f.py\n```\n```text\n2\n```",
    "no language of ours, but Python": f"```sage\n{CODE}```",
    "thought": f"<think>\nMaybe:\n```python\n{OTHER}```\n</think>\n```python\n{CODE}```",
    "thought without opening tag": f"Maybe\n```python\n{OTHER}```\n</think>\n\n```python\n{CODE}```",
    "thought between": f"```python\n{CODE}```\n<think>\n```python\n{OTHER}```\n</think>\nDone.",
    "unclosed thought afterwards": f"```python\n{CODE}```\n<think>\n```python\n{OTHER}```\n",
    "thought with an unclosed fence": f"<think>\n```python\ndef f(\n</think>\n{CODE}",
    "reasoning": f"<reasoning>f = 3</reasoning>\n<solution>\n{CODE}</solution>",
    "PYTHON tags": f"Text\n[PYTHON]\n{CODE}[/PYTHON]\nmore",
    "unclosed PYTHON tag": f"[PYTHON]\n{CODE}",
    "code tags": f"So: <code>\n{CODE}</code>.",
    "answer tags": f"A draft:\n```python\n{OTHER}```\n<answer>\n{CODE}</answer>",
    "answer tags around a fence": f"<think>no</think><answer>\nIt is\n```python\n{CODE}```\n</answer>",
    "draft after the answer": f"<answer>\n```python\n{CODE}```\n</answer>\nNot:\n```python\n{OTHER}```",
    "unclosed answer tag": f"<answer>\n```python\n{CODE}```",
    "answer tags without code": f"```python\n{CODE}```\n<answer>see above</answer>",
    "indented block": "Here:\n\n    def f(x):\n        return x + 1\n\nThat's it.",
    "indented fence": "1. First:\n   ```python\n   def f(x):\n       return x + 1\n   ```\n",
    "unfenced, text around": f"Here's the code:\n\n{CODE}\nThis doesn't loop.",
    "unfenced, text that looks like code": f"from here on, it's simple:\n{CODE}\nHope (this) helps",
    "diff": "```diff\n--- f.py\n+++ f.py\n@@ -1,2 +1,2 @@\n def f(x):\n-    return x\n+    return x + 1\n```",
    "bare diff": "@@ -1,2 +1,2 @@\n def f(x):\n-    return x\n+    return x + 1\n",
    "REPL prompts": "```\n>>> def f(x):\n...     return x + 1\n...\n```",
    "CRLF": f"Text\r\n```python\r\n{CODE}```\r\n".replace("\n", "\r\n").replace("\r\r", "\r"),
    "old Mac newlines": f"```python\n{CODE}```".replace("\n", "\r"),
    "full-width characters": "```python\ndef f\uff08x\uff09\uff1a\n\u3000\u3000return x \uff0b \uff11\n```",
    "zero-width characters": "```python\n\u200bdef f(x):\n    return\u200b x + 1\n```",
    "zero-width characters, unfenced": "Text.\n\u200bdef f(x):\n    return\u200b x + 1\nIt isn't.",
    "no-break spaces": "```python\ndef\u00a0f(x):\n\u00a0\u00a0\u00a0\u00a0return x + 1\n```",
    "byte order mark": f"\ufeff{CODE}",
    "byte order mark in a fence": f"```python\n\ufeff{CODE}```",
    "special tokens": f"```python\n{CODE}```<|im_end|>\n<|endoftext|>",
    "special tokens, unfenced": f"{CODE}</s>",
    "closing fence behind code": "```python\ndef f(x):\n    return x + 1```",
}


@pytest.mark.parametrize("completion", SAME_CODE.values(), ids=SAME_CODE.keys())
def test_each_way_of_writing(completion: str) -> None:
    code = code_of(completion)
    assert code is not None
    assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(CODE))


@pytest.mark.parametrize("docstring", [DOCSTRING_FENCE, DOCSTRING_PYTHON_FENCE])
@pytest.mark.parametrize(
    "around", ["{}", "```python\n{}```", "Text:\n```python\n{}```\nMore text.", "```\n{}```"]
)
def test_fence_inside_a_docstring(docstring: str, around: str) -> None:
    assert code_of(around.format(docstring)) == docstring


@pytest.mark.parametrize(
    "tabs", ["def f(x):\n\treturn x + 1\n", "def f(x):\n\tif x:\n        \treturn x + 1\n\treturn 1\n"]
)
def test_tabs(tabs: str) -> None:
    assert run(code_of(f"```python\n{tabs}```"), "f", 1) == 2


def test_mixed_tabs_mean_eight_spaces() -> None:
    mixed = "def f(x):\n        if x:\n\t    return x + 1\n\treturn 1\n"
    with pytest.raises(TabError):
        ast.parse(mixed)
    assert run(code_of(mixed), "f", 1) == 2


def test_strings_keep_their_characters() -> None:
    code = "def f\uff08x\uff09:\n    # \uff08\n    return \"\uff08\u200b\u3000\uff09\" + '\t'\n"
    found = code_of(code)
    assert run(found, "f", 1) == "\uff08\u200b\u3000\uff09\t"
    assert "# \uff08" in str(found)


def test_unicode_identifiers_stay() -> None:
    code = "def f(größe):\n    return größe + 1\n"
    assert code_of(f"```python\n{code}```") == code


NOTHING = {
    "empty": "",
    "blank": " \n\n\t\n",
    "prose": "I am sorry, I can't do that.",
    "one word": "Hello",
    "a number": "42",
    "empty fence": "```python\n```",
    "other language": "```cpp\nint f(int x) { return x + 1; }\n```",
    "output": "```text\n2\n```",
    "thought that never ended": f"<think>\n```python\n{CODE}```\nbut wait",
    "thought only": f"<think>\n```python\n{CODE}```\n</think>\n",
    "code comment only": "```python\n# nothing\n```",
    "null bytes": "\0\0",
    "a lone surrogate": "\ud800",
}


@pytest.mark.parametrize("completion", NOTHING.values(), ids=NOTHING.keys())
@pytest.mark.parametrize(
    "task", [TASK, SCRIPT, HUMANEVAL, LEETCODE, None], ids=["f", "stdio", "he", "lc", "none"]
)
def test_no_program(completion: str, task: Task | None) -> None:
    assert extract_code(completion, task) is None


def test_a_block_that_does_not_parse_is_returned_as_it_is() -> None:
    assert code_of("```python\ndef f(x:\n    return\n```") == "def f(x:\n    return\n"
    assert code_of("```python\ndef f(x):\n    return x\ndef g(\n```") == "def f(x):\n    return x\ndef g(\n"


def test_a_program_without_the_entry_point_is_returned() -> None:
    assert code_of("```python\ndef h(x):\n    return x\n```") == "def h(x):\n    return x\n"


def test_policies() -> None:
    completion = f"```python\n{CODE}```\n```python\n{OTHER}```"
    assert code_of(completion) == OTHER
    assert code_of(completion, policy="first") == CODE
    assert code_of(CODE, policy="whole") == CODE
    assert code_of("def f(x:", policy="whole") == "def f(x:"
    assert code_of(completion, policy="whole") == completion
    assert code_of(" ", policy="whole") is None
    with pytest.raises(ConfigError, match="policy must be one of last, first, whole, got 'best'"):
        code_of(completion, policy="best")


SCRIPT_CODE = "n = int(input())\nprint(2 * n)\n"


@pytest.mark.parametrize(
    "completion",
    [
        SCRIPT_CODE,
        f"```python\n{SCRIPT_CODE}```\nOutput:\n```\n4\n```",
        f"So it reads:\n{SCRIPT_CODE}\nand that's all.",
        f"```\n2\n```\n```py\n{SCRIPT_CODE}```",
    ],
)
def test_scripts(completion: str) -> None:
    assert str(code_of(completion, SCRIPT)).strip() == SCRIPT_CODE.strip()
    assert str(code_of(completion, None)).strip() == SCRIPT_CODE.strip()


CONTINUATIONS = [
    "    return sum(xs)\n",
    "return sum(xs)",
    "```python\n    return sum(xs)\n```",
    "```python\nreturn sum(xs)\n```",
    "total = 0\n    for x in xs:\n        total += x\n    return total\n",
    "    total = 0\n    for x in xs:\n        total += x\n    return total\n\n\nf([1])\n\nIt isn't code.",
    "    return sum(xs)\n\ndef main():\n    pass\n\nif __name__ == '__main__':\n    main(",
    "    return sum(List and xs)<|endoftext|>",
    "\n    # add\n    return sum(xs)",
    "def f(xs: List[int]) -> int:\n    return sum(xs)",
    "```python\ndef f(xs: List[int]) -> int:\n    return -g(sum(xs))\n```",
    "```python\nfrom __future__ import annotations\ndef f(xs: List[int]):\n    return -g(sum(xs))\n```",
    '```python\n"""Doc."""\n\n\ndef f(xs: List[int]) -> int:\n    return -g(sum(xs))\n```',
]


@pytest.mark.parametrize("completion", CONTINUATIONS)
def test_completions_that_rely_on_the_prompt(completion: str) -> None:
    assert run(code_of(completion, HUMANEVAL), "f", [1, 2]) == 3


@pytest.mark.parametrize(
    "completion",
    [
        "return sum(xs)",
        "        return sum(xs)",
        "total = 0\n        for x in xs:\n            total += x\n        return total",
        "```python\nclass Solution:\n    def f(self, xs: List[int]) -> int:\n        return sum(xs)\n```",
    ],
)
def test_methods_that_rely_on_the_starter_code(completion: str) -> None:
    assert run(code_of(completion, LEETCODE), "Solution.f", [1, 2]) == 3


def test_a_program_that_needs_nothing_of_the_prompt_stays_as_it_is() -> None:
    code = "def f(xs):\n    return sum(xs)\n"
    assert code_of(f"```python\n{code}```", HUMANEVAL) == code


def test_an_example_of_use_is_not_taken_for_the_body() -> None:
    completion = "```python\ndef f(xs):\n    return sum(xs)\n```\n```python\nassert f([1]) == 1\n```"
    assert run(code_of(completion, HUMANEVAL), "f", [1, 2]) == 3
    assert code_of("```python\nassert f([1]) == 1\n```", HUMANEVAL) == "assert f([1]) == 1\n"


ENTRY_POINTS = [
    "f = lambda x: x + 1",
    "import functools\nf = functools.partial(int.__add__, 1)",
    "class A:\n    def __call__(self, x):\n        return x + 1\nf = A()",
    "async def f(x):\n    return x + 1",
    "@cache\ndef f(x):\n    return x + 1",
    "if True:\n    def f(x):\n        return x + 1",
    "try:\n    from fast import f\nexcept ImportError:\n    f = None",
    "a, (f, b) = 1, (2, 3)",
    "for f in [1]:\n    pass",
    "with open('x') as f:\n    pass",
    "f: object = 3",
    "(f := 3)",
]


@pytest.mark.parametrize("code", ENTRY_POINTS)
def test_defines(code: str) -> None:
    assert source.defines(source.parse(code), "f")
    assert code_of(f"```python\n{code}\n```\n```python\nprint(f(1))\n```") == code + "\n"


@pytest.mark.parametrize(
    "code",
    [
        "def g():\n    def f(x):\n        pass",
        "print(f)",
        "[f for f in ()]",
        "g = lambda: (f := 1)",
        "class A:\n    f = 1",
    ],
)
def test_does_not_define(code: str) -> None:
    assert source.defines(source.parse(code), "f") is (code == "[f for f in ()]")


@pytest.mark.parametrize(
    ("code", "right"),
    [
        ("class Solution:\n    def f(self): pass", True),
        ("class Solution:\n    def g(self): pass", False),
        ("class Solution(Base): pass", True),
        ("Solution = make()", True),
        ("def f(self): pass", False),
    ],
)
def test_defines_a_method(code: str, right: bool) -> None:
    assert source.defines(source.parse(code), "Solution.f") is right


def test_parsing_warns_of_nothing() -> None:
    code = 'def f(x):\n    return x + 1if x else "\\d \\400 \\\\", b"\\u1234", r"\\d"\n'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source.parse(code)
        assert code_of(f"```python\n{code}```") == code


HOSTILE = {
    "parentheses": "(" * 500_000,
    "minus signs": "-" * 500_000 + "1",
    "sums": "1+" * 300_000 + "1",
    "attributes": "a" + ".a" * 300_000,
    "calls": "a" + "()" * 300_000,
    "nots": "not " * 200_000 + "1",
    "lambdas": "lambda:" * 100_000 + "1",
    "fences": "```python\n" * 100_000,
    "fence pairs": "```\n```\n" * 100_000,
    "open docstrings": '```python\n"""\n```\n' * 50_000,
    "back-ticks": "`" * 1_000_000,
    "tildes": "~~~ " * 300_000 + "`",
    "thoughts": "<think>" * 200_000,
    "thought ends": "</think>\n" * 200_000,
    "answers": "<answer>" * 200_000,
    "tags": "[PYTHON]" * 200_000,
    "defs": "def f(x):\n" * 100_000,
    "indented defs": "".join(" " * (i % 200) + "def f(x):\n" for i in range(20_000)),
    "spaces": " " * 2_000_000,
    "lines": "\n" * 2_000_000,
    "colons": "if " + ":   " * 300_000,
    "quotes": "'" * 1_000_000,
    "triple quotes": '"""' * 400_000,
    "back-slashes": "\\" * 1_000_000,
    "digits and dots": "1.1" * 400_000,
    "prompts": ">>> f\n" * 200_000,
    "plus signs": "+\n" * 500_000,
    "end tokens": "<|" * 500_000,
    "full-width quotes": "\uff02" * 500_000,
    "prose": "The quick brown fox doesn't jump. " * 60_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_lengths(text: str) -> None:
    extract_code(text, TASK)
    found = extract_code(f"{text}\n\n```python\n{CODE}```\n", TASK)
    assert found is None or isinstance(found, Program)


def test_hostile_nesting_in_a_thread() -> None:
    """The stack of a thread may be smaller."""
    done: list[object] = []
    deep = ["(" * 500_000, "-" * 500_000 + "1", "a" + "()" * 300_000, "f'{" * 100_000, "[" * 190 + "]" * 190]
    thread = threading.Thread(target=lambda: done.extend(extract_code(text, TASK) for text in deep))
    thread.start()
    thread.join()
    assert len(done) == len(deep)


PIECES = [
    *("```", "```python\n", "~~~\n", "\n", "    ", "\t", "<think>", "</think>\n", "<answer>", "</answer>"),
    *('"""', "'", ">>> ", "+", "-", "[PYTHON]", "[/PYTHON]", "\\", "\r\n", "\uff08", "\u200b", "\0"),
    *("def ", "f(", "class A:\n", "return x\n", "prose"),
]
COMPLETIONS = st.lists(st.sampled_from([*PIECES, CODE, OTHER]) | st.text(max_size=5), max_size=25).map(
    "".join
)


@given(COMPLETIONS, st.sampled_from([TASK, SCRIPT, HUMANEVAL, LEETCODE, None]))
def test_anything_is_a_program_or_none(completion: str, task: Task | None) -> None:
    found = extract_code(completion, task)
    assert found is None or found.code.strip()


@given(
    st.text(alphabet=st.characters(exclude_characters="`~<[\\\0\r", exclude_categories=["Cs"]), max_size=60)
)
def test_prose_before_a_fence_does_not_matter(prose: str) -> None:
    assert code_of(f"{prose}\n```python\n{CODE}```") == CODE


@given(st.text(alphabet=st.characters(exclude_characters="\0\r\\", exclude_categories=["Cs"]), max_size=60))
def test_a_string_in_the_program_stays_as_it_is(text: str) -> None:
    code = f"def f(x):\n    return {text!a}\n"
    assert code_of(f"Text:\n```python\n{code}```\nEnd.") == code

"""Drawing from a small model: the same whatever the batch, the same as transformers' own greedy search."""

import json

import pytest
import tokenizers
import torch
import transformers

from codegym.core import Task
from codegym.errors import ConfigError
from codegym.generation import Prompt, Sampling, generate, make_generator
from codegym_transformers.generator import Draw, TransformersGenerator

TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"
TASKS = [Task(id=f"T/{n}", prompt=f"def f{n}(x):\n", entry_point=f"f{n}") for n in range(5)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of a few thousand random weights that speaks bytes."""
    path = tmp_path_factory.mktemp("model")
    inner = tokenizers.Tokenizer(tokenizers.models.BPE())
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=260,
        special_tokens=["<pad>", "<eos>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    inner.train_from_iterator(["def f(x): return x"], trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>"
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(path)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, max_position_embeddings=256,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(path)
    return str(path)


def prompts(count=5):
    return [Prompt(task_id=f"T/{n}", index=0, text="def f(x):" * (n + 1), seed=n) for n in range(count)]


def texts(generator, sampling):
    return [completion.text for completion in generator.generate(prompts(), sampling)]


def test_greedy_is_what_transformers_itself_does(folder):
    generator = TransformersGenerator(folder, batch=1)
    ours = texts(generator, Sampling(max_tokens=12))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    for prompt, text in zip(prompts(), ours, strict=True):
        ids = tokenizer(prompt.text, return_tensors="pt", add_special_tokens=False)["input_ids"]
        theirs = model.generate(ids, max_new_tokens=12, do_sample=False)[0, ids.shape[1] :]
        assert text == tokenizer.decode(theirs, skip_special_tokens=True)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_batch_makes_no_difference(folder, temperature):
    sampling = Sampling(temperature=temperature, max_tokens=12)
    alone = texts(TransformersGenerator(folder, batch=1), sampling)
    assert texts(TransformersGenerator(folder, batch=5), sampling) == alone
    assert texts(TransformersGenerator(folder, batch=2), sampling) == alone


def test_a_sample_is_a_function_of_its_seed(folder):
    generator = TransformersGenerator(folder)
    sampling = Sampling(temperature=1.0, max_tokens=12)
    first = texts(generator, sampling)
    assert texts(generator, sampling) == first
    assert len(set(first)) > 1


def drawn(sampling, count):
    rows = [Prompt(task_id="t", index=n, text="", seed=n) for n in range(count)]
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]] * count))
    return Draw(rows, sampling)(None, logits).argmax(dim=-1).tolist()


def test_tokens_are_drawn_as_often_as_they_are_likely():
    found = drawn(Sampling(temperature=1.0), 4000)
    assert [found.count(token) / 4000 for token in range(4)] == pytest.approx(
        [0.5, 0.3, 0.15, 0.05], abs=0.03
    )
    cold = drawn(Sampling(temperature=0.1), 400)
    assert cold.count(0) > 390


def test_top_p_keeps_the_likeliest_and_what_follows_up_to_the_share():
    assert set(drawn(Sampling(temperature=1.0, top_p=0.6), 400)) == {0, 1}
    assert set(drawn(Sampling(temperature=1.0, top_p=1e-9), 400)) == {0}


def test_messages_go_through_the_chat_template(folder):
    generator = TransformersGenerator(folder)
    prompt = Prompt(task_id="t", index=0, messages=({"role": "user", "content": "hi"},))
    assert generator._text(prompt) == "user: hi\nassistant:"
    generator._tokenizer.chat_template = None
    with pytest.raises(ConfigError, match="'completion'"):
        generator._text(prompt)


def test_where_a_text_ends(folder):
    generator = TransformersGenerator(folder)
    end = generator._tokenizer.eos_token_id
    letters = generator._tokenizer("ab", add_special_tokens=False)["input_ids"]
    prompt = Prompt(task_id="t", index=0, text="x", stop=("b",))
    sampling = Sampling(max_tokens=3)
    assert generator._completion(prompt, [*letters, end], sampling).finish_reason == "stop"
    assert generator._completion(prompt, [*letters, letters[0]], sampling).finish_reason == "length"
    assert generator._completion(prompt, letters, sampling).text == "a"


def test_it_is_found_by_name_and_writes_samples(folder, tmp_path):
    generator = make_generator("transformers", folder, batch=2)
    path = tmp_path / "samples.jsonl"
    done = generate(TASKS, generator, path, Sampling(max_tokens=4), style="completion")
    assert done.written == 5
    assert {json.loads(line)["task_id"] for line in path.read_text().splitlines()} == {
        task.id for task in TASKS
    }


@pytest.mark.parametrize(("options", "says"), [
    ({"model": "/nowhere"}, "cannot be loaded"), ({"dtype": "float7"}, "float32"), ({"batch": 0}, "batch"),
])  # fmt: skip
def test_what_makes_no_sense(folder, options, says, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ConfigError, match=says):
        TransformersGenerator(**{"model": folder, **options})

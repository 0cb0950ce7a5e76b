"""Models on this machine that score candidates: cross-encoders, reward models, and rewards of single steps."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, cast

from bonwise.errors import BonwiseError, UsageError
from bonwise.extras import REWARD
from bonwise.flags import takes_numbers
from bonwise.judges import asking, registry
from bonwise.judges.protocol import EMPTY, cached_property, has_words
from bonwise.printable import printable
from bonwise.table.checks import check_whole
from bonwise.table.text_files import open_plain
from bonwise.table.verdicts import Score, Unscored, Verdict

_READ = ("*.json", "*.jinja", "*.model", "*.txt", "*.safetensors")
"""Files of a model that are fetched and read: settings, tokenizers and weights, neither code nor pickles."""

_Joining = Callable[[Sequence[float]], float]
_JOINED: Mapping[str, _Joining] = {"min": min, "product": math.prod, "last": lambda scores: scores[-1]}

_ONE_AT_A_TIME = Lock()
"""A tokenizer is not thread-safe, and a call that a deadline gave up runs on."""


@takes_numbers
@dataclass(frozen=True)
class Reward:
    r"""A model on this machine that scores each candidate: a cross-encoder, a reward model, or one of single steps.

    Transformers and torch run it, in float32. No code of its folder is run, and no pickled weights are read. A model
    of one number gives that number as it is. A candidate that is longer than the model reads is unscored: nothing is
    cut. What is scored beside a text changes its score by rounding alone. The first call loads the model.

    Parameters
    ----------
    path : str
        A folder, or else a name on the Hugging Face hub, which is fetched now unless it was before.
    label : str or int, optional
        The label whose probability is the score, by name or place: needed where there are several.
    chat : bool, optional
        Whether the tokenizer's chat template joins prompt and candidate, or they are a pair of texts. Unless given,
        they are joined where there is a template.
    steps : {"min", "product", "last"}, optional
        Of a token classification, as TRL's PRMTrainer makes: what joins the probabilities at the ends of steps.
    step : str
        What ends a step in a candidate.
    revision : str, optional
        Of a model on the hub: a commit, a tag or a branch.
    batch : int
        How many candidates the model reads at once.
    device : str, optional
        A device of torch; unless given ``cuda`` where there is one, else ``cpu``.

    Examples
    --------
    >>> judge = Reward("cross-encoder/ms-marco-MiniLM-L6-v2")  # doctest: +SKIP
    >>> judge.judge("How many legs has a spider?", ["8", ""])  # doctest: +SKIP
    [Score(value=3.91...), Unscored(reason='empty answer', raw='')]
    """

    path: str
    _: KW_ONLY
    label: str | int | None = None
    chat: bool | None = None
    steps: str | None = None
    step: str = "\n\n"
    revision: str | None = None
    batch: int = 8
    device: str | None = None

    kind: ClassVar[str] = "reward"

    def __post_init__(self) -> None:
        REWARD.require("a model on this machine")
        check_whole("batch", self.batch, least=1)
        if not self.path:
            raise UsageError("a reward model without a name", hint="write reward:FOLDER, or reward:NAME of the hub")
        if self.steps is not None and self.steps not in _JOINED:
            raise UsageError(f"steps is {self.steps!r}", hint=f"choose one of {', '.join(_JOINED)}")
        if self.steps and (self.chat or not self.step):
            raise UsageError("steps are no turns of a chat, and end somewhere", hint="leave chat out, and state step")
        try:
            _ = self.place, self.form  # what is wrong is said before anything is asked
        except BonwiseError:
            raise
        except (AttributeError, TypeError, ValueError) as error:
            raise self._failed("read", error, "mend config.json") from error

    @cached_property
    def name(self) -> str:
        """What makes this judge on a command line; what changes the speed alone is left out."""
        stated = asking.options_text(self, never=("path", "batch", "device"))
        return str(registry.Spec(self.kind, stated, rest=self.path))

    @cached_property
    def version(self) -> str:
        """A digest of all files that are read, weights too, and the form in which texts are."""
        digest = hashlib.sha256()
        for file in sorted(file for pattern in _READ for file in self._folder.glob(pattern) if file.is_file()):
            with open_plain(file) as opened:
                digest.update(file.name.encode() + hashlib.file_digest(cast("Any", opened), "sha256").digest())
        return f"reward1 {digest.hexdigest()[:16]} {self.form}"

    @cached_property
    def form(self) -> str:
        """How the model reads texts: as ``pair``, ``chat`` or ``steps``."""
        if self.steps:
            return "steps"
        apart = (self._folder / "chat_template.jinja").exists()
        template = apart or self._settings("tokenizer_config.json").get("chat_template")
        if self.chat and not template:
            raise UsageError(f"{self.path} has no chat template", hint="leave chat out: texts are then a pair")
        return "chat" if template and self.chat is not False else "pair"

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[Verdict]:
        """Return one verdict per candidate that has words; a text that is there twice is read once."""
        texts = list(dict.fromkeys(text for text in candidates if has_words(text)))
        with _ONE_AT_A_TIME:
            verdicts = self._model.verdicts(prompt, texts) if texts else {}
        return [verdicts.get(text, EMPTY) for text in candidates]

    @cached_property
    def _folder(self) -> Path:
        if Path(self.path).is_dir():
            return Path(self.path)
        from huggingface_hub import snapshot_download  # noqa: PLC0415 - an extra brings it

        wanted = {"revision": self.revision, "allow_patterns": list(_READ), "ignore_patterns": ["*/*"]}
        try:
            return Path(snapshot_download(self.path, **wanted))
        except Exception as error:
            raise self._failed(
                "found or fetched", error, "state a folder that is there, or a name of the hub"
            ) from error

    def _failed(self, done: str, error: Exception, hint: str) -> UsageError:
        why = printable(" ".join(f"{type(error).__name__}: {error}".split()), longest=300)
        return UsageError(f"{self.path} cannot be {done}: {why}", hint=hint)

    def _settings(self, file: str) -> Mapping[str, Any]:
        try:
            with open_plain(self._folder / file) as opened:
                return dict(json.load(opened))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise self._failed("read", error, f"mend {file}") from error

    @cached_property
    def place(self) -> int:
        """Where the label stands among those of the model, whose head is looked at too."""
        settings = self._settings("config.json")
        head = "ForTokenClassification" if self.steps else "ForSequenceClassification"
        architecture = ", ".join(settings.get("architectures") or ["no model"])
        if not architecture.endswith(head):
            hint = "steps= is for a token classification, and a sequence classification goes without it"
            raise UsageError(f"{self.path} holds {architecture}, not a model {head}", hint=hint)
        if (self._folder / "adapter_config.json").exists():
            raise UsageError(f"{self.path} is an adapter, and its base stands elsewhere", hint="merge the two")
        if not any(self._folder.glob("*.safetensors")):
            raise UsageError(
                f"{self.path} has no weights in safetensors", hint="pickled ones can run code: convert them"
            )
        numbered = settings.get("id2label") or {at: f"LABEL_{at}" for at in range(settings.get("num_labels", 2))}
        names = [str(numbered[at]) for at in sorted(numbered, key=int)]
        stated = "0" if self.label is None and len(names) == 1 and not self.steps else str(self.label)
        meant = [at for at, name in enumerate(names) if stated in {name, str(at)}]
        if len(meant) != 1:
            what = f"{len(meant)} labels {stated}, by name or place" if meant else f"no label {stated}"
            what = "several labels" if self.label is None else what
            hint = f"state one of its labels, such as label={names[-1]}: {', '.join(names)}"
            raise UsageError(f"{self.path} has {what}", hint=hint)
        return meant[0]

    @cached_property
    def _model(self) -> _LoadedModel:
        import torch  # noqa: PLC0415 - an extra brings them, and they take seconds to import
        import transformers  # noqa: PLC0415

        kind = transformers.AutoModelForSequenceClassification
        kind = transformers.AutoModelForTokenClassification if self.steps else kind
        options = {"local_files_only": True, "trust_remote_code": False}
        device = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(self._folder, **options)
            model, loading = kind.from_pretrained(
                self._folder, use_safetensors=True, output_loading_info=True, **options
            )
            model = model.float().eval().to(device)
        except Exception as error:
            hint = "it has to be one of transformers' own: no code of a model's folder is run"
            raise self._failed("loaded", error, hint) from error
        if loading["missing_keys"]:  # transformers would draw them at random
            lacking = ", ".join(sorted(loading["missing_keys"]))
            raise UsageError(f"{self.path} lacks weights: {lacking}", hint="take a model that was trained to score")
        return _LoadedModel(self, torch, tokenizer, model, model.config.get_text_config().to_dict())


@dataclass(frozen=True, eq=False)
class _LoadedModel:
    """The model of a judge, loaded, with its tokenizer."""

    judge: Reward
    torch: Any
    tokenizer: Any
    model: Any
    settings: Mapping[str, Any]

    def verdicts(self, prompt: str, texts: Sequence[str]) -> dict[str, Verdict]:
        """Return the verdict on each text; texts of about one length are read together."""
        rows = {text: self._row(prompt, text) for text in texts}
        verdicts: dict[str, Verdict] = {text: row for text, row in rows.items() if isinstance(row, Unscored)}
        read = sorted(rows.keys() - verdicts.keys(), key=lambda text: (len(rows[text]["input_ids"]), text))
        # A decoder scores at the last token that its own settings do not take for filling.
        filling = self.tokenizer.pad_token_id
        size = self.judge.batch if filling is not None and filling == self.settings.get("pad_token_id") else 1
        for begin in range(0, len(read), size):
            together = read[begin : begin + size]
            numbers = self._numbers([rows[text] for text in together], filling or 0)
            for text, its in zip(together, numbers, strict=True):
                verdicts[text] = self._verdict(its, rows[text]["ends"])
        return verdicts

    def _row(self, prompt: str, text: str) -> Any:
        """Return what the model reads of a text, by name, and where its steps end; or why it reads nothing."""
        row: dict[str, Any] = {"ends": []}
        if self.judge.form == "steps":
            row["input_ids"], row["ends"] = self._steps(prompt, text)
            if not row["ends"]:
                return Unscored("it has no steps")
        elif self.judge.form == "chat":
            signs = [sign for sign in self.tokenizer.all_special_tokens if sign in prompt or sign in text]
            if signs:  # it would end a turn, and begin one that nobody has written
                return Unscored(f"{signs[0]} in a text would be read as a sign of the chat template")
            turns = [{"role": "user", "content": prompt}, {"role": "assistant", "content": text}]
            row |= self._tokens(self.tokenizer.apply_chat_template(turns, tokenize=False), add_special_tokens=False)
        else:
            row |= self._tokens(prompt, text, split_special_tokens=True)
        count = len(row["input_ids"])
        row.setdefault("attention_mask", [1] * count)
        most = min(self.tokenizer.model_max_length, self.settings.get("max_position_embeddings") or math.inf)
        return Unscored(f"longer than the model reads: {count:,} tokens of {most:,}") if count > most else row

    def _tokens(self, *texts: str, **how: bool) -> Any:
        # By themselves transformers 4 and 5 differ in whether a model is told which of two texts a token is of.
        usual = self.tokenizer.init_kwargs.get("model_input_names", ["token_type_ids"])
        typed = (self.settings.get("type_vocab_size") or 0) > 1 and "token_type_ids" in usual
        return self.tokenizer(*texts, verbose=False, return_token_type_ids=typed, **how)

    def _steps(self, prompt: str, text: str) -> tuple[list[int], list[int]]:
        """Return the tokens of prompt and steps, and where the steps end: as TRL's PRMTrainer lays them out."""
        alone = {"add_special_tokens": False, "split_special_tokens": True}
        end, first = self._tokens(self.judge.step, **alone)["input_ids"], self.tokenizer.bos_token_id
        tokens, ends = ([] if first is None else [first]) + self._tokens(prompt, **alone)["input_ids"], []
        for part in text.split(self.judge.step):
            of_step = self._tokens(part, **alone)["input_ids"] if has_words(part) else []
            if of_step:
                tokens += of_step + end
                ends.append(len(tokens) - 1)
        return tokens, ends

    def _numbers(self, rows: Sequence[Mapping[str, Any]], filling: int) -> Any:
        """Return what the labels are worth in some rows, filled up on the right: numbers, or probabilities."""
        width = max(len(row["input_ids"]) for row in rows)
        empty = {name: filling if name == "input_ids" else 0 for name in rows[0] if name != "ends"}
        read = {n: [row[n] + [empty[n]] * (width - len(row[n])) for row in rows] for n in empty}
        with self.torch.inference_mode():
            tensors = {name: self.torch.tensor(filled, device=self.model.device) for name, filled in read.items()}
            logits = self.model(**tensors).logits.double().cpu()
        problem = getattr(self.model.config, "problem_type", None)
        if logits.shape[-1] == 1 or problem == "regression":
            return logits
        return logits.sigmoid() if problem == "multi_label_classification" else logits.softmax(-1)

    def _verdict(self, numbers: Any, ends: Sequence[int]) -> Verdict:
        scores = [float(its[self.judge.place]) for its in ([numbers[at] for at in ends] if ends else [numbers])]
        if not all(map(math.isfinite, scores)):
            return Unscored("the model returned no finite number")
        raw = json.dumps([round(score, 9) for score in scores])
        return Score(_JOINED[self.judge.steps or "last"](scores), raw=raw if ends else "")

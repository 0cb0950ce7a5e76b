"""Files as tools wrote them, how each was made, and what is read from it: counted by hand."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "files"


@dataclass(frozen=True)
class RealFile:
    """One file.

    Parameters
    ----------
    name : str
        In the folder of files; a folder too.
    tool : str
        With its version.
    made : str
        The command or the call.
    read : tuple of int, optional
        Rows, prompts, candidate names, judges and labelled rows.
    columns : tuple of str, optional
        Of prompt, candidate, score and label, where they are columns of the file.
    says : str
        Of a file that is no table of scores: what the one sentence names.
    labels : str
        Of picks: the file of labels that the one flag ``--labels`` gives; rows and labels are those of candidates.
    votes : tuple of int, optional
        Of votes, which ``bonwise preferences`` reads: rows, ties, and pairs of models.
    """

    name: str
    tool: str
    made: str
    read: tuple[int, int, int, int, int] | None = None
    columns: tuple[str, str, str, str] | None = None
    says: str = ""
    labels: str = ""
    votes: tuple[int, int, int] | None = None

    @property
    def path(self):
        """Where it is."""
        return FOLDER / self.name

    @property
    def digest(self):
        """The first 12 characters of its SHA-256; of a folder, of its files one after the other."""
        files = sorted(self.path.iterdir()) if self.path.is_dir() else [self.path]
        return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


PROMPTFOO, INSPECT, DEEPEVAL = "promptfoo 0.121.20", "Inspect 0.3.285", "DeepEval 4.3.1"
MLFLOW, HARNESS, CJE = "MLflow 3.17.2", "lm-evaluation-harness 0.4.13", "CJE 0.9.3"
LANGFUSE, LANGSMITH = "Langfuse SDK 5.0.4", "LangSmith SDK 0.15.0"
STUDIO, PYDANTIC, BRAINTRUST = "Label Studio 1.23.2", "pydantic-evals 2.62.0", "Braintrust SDK 0.47.0"
POLARS, DUCKDB, DATASETS, EVALICA = "Polars 2.1.0", "DuckDB 2.0.0", "datasets 5.2.0", "evalica 0.4.2"
CHOIX, ALPACA = "choix 0.4.1", "AlpacaEval 0.6.6"
SQLITE, JQ, PANDAS, BONWISE = "sqlite3 3.40.1", "jq 1.6", "pandas 3.1.1", "bonwise"
VOTES = "bonwise preferences"
EXPORT = "GET /api/projects/1/export?exportType="
OF_POLARS = ("Task ID", "Model Name", "Reward", "Human Label")
OF_DUCKDB = ("item_id", "variant", "grade", "gold")
OF_SQLITE = ("question_id", "system", "score", "expert_label")

REAL_FILES = (
    RealFile("promptfoo.json.gz", PROMPTFOO, "promptfoo eval --repeat 2 -o out.json", (24, 3, 8, 1, 24)),
    RealFile("promptfoo.jsonl.gz", PROMPTFOO, "promptfoo eval --repeat 2 -o out.jsonl", (24, 3, 8, 1, 24)),
    RealFile("promptfoo.csv", PROMPTFOO, "promptfoo eval --repeat 2 -o out.csv", (24, 3, 8, 1, 24)),
    RealFile("inspect.eval", INSPECT, 'eval(task, log_format="eval")', (9, 3, 3, 1, 9)),
    RealFile("inspect.json.gz", INSPECT, 'eval(task, log_format="json")', (9, 3, 3, 1, 9)),
    RealFile("inspect_parts.eval", INSPECT, "eval(task), a scorer with two values", (18, 3, 3, 2, 18)),
    RealFile("deepeval.json", DEEPEVAL, "evaluate(cases, metrics), cases with names", (6, 3, 2, 1, 6)),
    RealFile("deepeval_unnamed.json", DEEPEVAL, "evaluate(cases, metrics)", (6, 3, 2, 1, 6)),
    RealFile("mlflow_traces.json.gz", MLFLOW, "json.dump([trace.to_dict() ...])", (6, 3, 2, 1, 6)),
    RealFile("mlflow_search.jsonl.gz", MLFLOW, "search_traces().to_json(lines=True)", (6, 3, 2, 1, 6)),
    RealFile("lm_eval.jsonl", HARNESS, "EvaluationTracker.save_results_samples", says="bonwise judge"),
    RealFile("langfuse", LANGFUSE, "ObservationV2, NumericScore ... as JSON", (6, 3, 2, 1, 6)),
    RealFile("langsmith_feedback.jsonl", LANGSMITH, "schemas.Run, schemas.Feedback as JSON", (6, 3, 2, 1, 6)),
    RealFile("langsmith_stats.jsonl", LANGSMITH, "schemas.Run with feedback_stats", (6, 3, 2, 1, 6)),
    RealFile("label_studio.json.gz", STUDIO, EXPORT + "JSON", (6, 3, 2, 1, 6)),
    RealFile("label_studio_min.json", STUDIO, EXPORT + "JSON_MIN", (6, 3, 2, 1, 6)),
    RealFile("label_studio.csv", STUDIO, EXPORT + "CSV", (6, 3, 2, 1, 6)),
    RealFile("pydantic_evals.json.gz", PYDANTIC, "EvaluationReportAdapter.dump_json(report)", (6, 3, 2, 1, 6)),
    RealFile("braintrust.json", BRAINTRUST, "Eval(..., trial_count=2).results", (6, 3, 2, 1, 6)),
    RealFile("cje", CJE, "FreshDrawSample.model_dump_json", (12, 3, 4, 1, 6)),
    RealFile("polars.ndjson", POLARS, "frame.write_ndjson", (6, 3, 2, 1, 6), OF_POLARS),
    RealFile("polars.parquet", POLARS, "frame.write_parquet", (6, 3, 2, 1, 6), OF_POLARS),
    RealFile("polars.tsv", POLARS, 'frame.write_csv(separator="\\t")', (6, 3, 2, 1, 6), OF_POLARS),
    RealFile("polars_lists.parquet", POLARS, "write_parquet of list columns", (6, 3, 2, 1, 6)),
    RealFile("duckdb.csv", DUCKDB, "copy t to ... (header, delimiter ';')", (6, 3, 2, 1, 6), OF_DUCKDB),
    RealFile("duckdb.parquet", DUCKDB, "copy t to ... (format parquet)", (6, 3, 2, 1, 6), OF_DUCKDB),
    RealFile("duckdb.json", DUCKDB, "copy t to ... (array true)", (6, 3, 2, 1, 6), OF_DUCKDB),
    RealFile("hf_preferences.parquet", DATASETS, "Dataset.to_parquet, chosen and rejected", (6, 3, 2, 1, 6)),
    RealFile("hf_completions.jsonl", DATASETS, "Dataset.to_json, completions", (6, 3, 2, 1, 6)),
    RealFile("hf_wide.csv", DATASETS, "Dataset.to_csv, a column per model", (6, 3, 2, 1, 6)),
    RealFile("evalica.csv", EVALICA, "the frame of evalica.bradley_terry", says=VOTES, votes=(12, 3, 1)),
    RealFile("choix.csv", CHOIX, "generate_pairwise, winner and loser as CSV", says=VOTES, votes=(36, 0, 3)),
    RealFile("alpaca_annotations.json", ALPACA, "PairwiseAnnotator.annotate_head2head", says=VOTES, votes=(14, 0, 1)),
    RealFile("mt_bench_votes.jsonl", DATASETS, "Dataset.to_json of MT-Bench votes", says=VOTES, votes=(36, 12, 3)),
    RealFile("arena_marks.ndjson", POLARS, "write_ndjson, a column per outcome", says=VOTES, votes=(36, 12, 3)),
    RealFile("arena_signs.parquet", POLARS, "write_parquet, verdicts A>>B", says=VOTES, votes=(36, 12, 3)),
    RealFile("sqlite.csv", SQLITE, "sqlite3 -header -csv", (4, 2, 2, 1, 4), OF_SQLITE),
    RealFile("sqlite.tsv", SQLITE, "sqlite3 -header -tabs", (4, 2, 2, 1, 4), OF_SQLITE),
    RealFile("sqlite.json", SQLITE, "sqlite3 -json", (4, 2, 2, 1, 4), OF_SQLITE),
    RealFile(
        "jq.jsonl",
        JQ,
        "jq -c '.[] | {case, candidate, rating, human}'",
        (4, 2, 2, 1, 4),
        ("case", "candidate", "rating", "human"),
    ),
    RealFile("wide.csv", PANDAS, "to_csv, a column per candidate", (4, 2, 2, 1, 4)),
    RealFile("judges.csv", PANDAS, "to_csv, a column per judge", (8, 2, 2, 2, 8)),
    RealFile("bonwise_judge.csv", BONWISE, "bonwise judge pools.jsonl --out", (8, 2, 2, 2, 0)),
    RealFile("bonwise_pools.jsonl", BONWISE, "pools for bonwise judge", says="bonwise judge"),
    RealFile(
        "bonwise_select.jsonl",
        BONWISE,
        "bonwise select pools.jsonl",
        (4, 2, 2, 1, 4),
        labels="bonwise_select_labels.csv",
    ),
)

"""Plug-ins for other frameworks: one module per framework, over the rules of `reranking` and `generation`.

No framework is loaded before its module is imported; where it is missing, the import says which line to type.
"""

from __future__ import annotations

from bonwise.extras import Feature

__all__ = ["HOSTS"]

HOSTS = {
    "dspy": Feature(("dspy",), "dspy"),
    "haystack": Feature(("haystack",), "haystack"),
    "inspect_ai": Feature(("inspect_ai",), "inspect-ai"),
    "langchain": Feature(("langchain_core",), "langchain"),
    "langchain_agents": Feature(("langchain_core", "langchain"), "langchain"),
    "litellm": Feature(("litellm",), "litellm"),
    "llama_index": Feature(("llama_index.core",), "llama-index"),
    "mcp_server": Feature(("mcp",), "mcp"),
    "openai_agents": Feature(("agents",), "openai-agents"),
    "pydantic_ai": Feature(("pydantic_ai",), "pydantic-ai"),
    "pydantic_evals": Feature(("pydantic_evals",), "pydantic-evals"),
}
"""What each module of this package needs that bonwise does not bring."""

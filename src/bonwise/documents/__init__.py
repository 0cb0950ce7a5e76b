"""Typed documents: what bonwise writes as JSON and reads back, one pydantic model per schema, one file per model."""

"""Judge prompts: files with strict variables, in which text is never a template."""

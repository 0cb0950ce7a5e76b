"""The demo: bundled tasks that a program can check, judged by weak local judges and audited."""

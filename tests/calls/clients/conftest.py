"""Nothing that the SDKs would find by themselves, and no look at the metadata of a cloud."""

from __future__ import annotations

import contextlib
import os

import pytest

from calls.clients.makers import ASYNC, KINDS, SYNC, Maker

_PREFIXES = ("OPENAI_", "ANTHROPIC_", "AZURE_", "AWS_", "GOOGLE_", "CLOUD_ML_")


def noting(looked, name):
    """Return the class of boto3's sessions, which notes one that is given no keys."""
    import boto3  # noqa: PLC0415 - only the newest environment has it

    class Session(boto3.Session):
        """Needs nothing but what is stated."""

        def __init__(self, **settings):
            if not (settings.get("aws_access_key_id") or os.environ.get("AWS_ACCESS_KEY_ID")):
                looked.append(name)
            super().__init__(**settings)

    return Session


@pytest.fixture(autouse=True)
def no_cloud(monkeypatch, tmp_path_factory):
    """Hide the machine's own credentials, and fail a test that goes to look for some."""
    for name in list(os.environ):
        if name.startswith(_PREFIXES) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    nothing = tmp_path_factory.mktemp("no credentials")
    monkeypatch.setenv("HOME", str(nothing))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(nothing / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(nothing / "credentials"))
    looked = []
    with contextlib.suppress(ImportError):
        monkeypatch.setattr("google.auth.default", lambda *_, **__: looked.append("google.auth.default"))
    with contextlib.suppress(ImportError):
        monkeypatch.setattr("boto3.Session", noting(looked, "boto3.Session"))
    yield
    assert looked == []


@pytest.fixture(params=KINDS)
def maker(request):
    """Each class of clients in turn."""
    return Maker(request.param)


@pytest.fixture(params=SYNC)
def sync_maker(request):
    """Each synchronous class in turn."""
    return Maker(request.param)


@pytest.fixture(params=ASYNC)
def async_maker(request):
    """Each asynchronous class in turn."""
    return Maker(request.param)

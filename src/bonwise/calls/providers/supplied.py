"""A client of an official SDK that the user made: what it is, where it sends, and what tells it from others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, Self

from bonwise.calls.ask import Model, model_from_spec
from bonwise.calls.providers import secrets, service
from bonwise.errors import UsageError

if TYPE_CHECKING:
    from bonwise.calls.providers.protocol import Client, Connection

_SDKS = frozenset({"openai", "anthropic"})
_KINDS = {"SyncAPIClient": False, "AsyncAPIClient": True}
_EXAMPLES = "such as openai.AzureOpenAI(...) or anthropic.AsyncAnthropicBedrock(...)"


class SuppliedClient:
    """A client of the openai or anthropic SDK that the user keeps, never changed or closed; equal for one object."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.sdk, self.asynchronous = _sdk_of(client)

    def __repr__(self) -> str:
        return f"SuppliedClient({type(self.client).__name__}, {self.address.origin!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SuppliedClient) and other.client is self.client

    def __hash__(self) -> int:
        return id(self.client)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        self.refuse_pickling()

    @property
    def kind(self) -> str:
        """The SDK's class, whether the client is synchronous or not: both get the same answers."""
        own = next(parent for parent in type(self.client).__mro__ if parent.__module__.partition(".")[0] == self.sdk)
        return own.__name__.removeprefix("Async")

    @property
    def address(self) -> service.Address:
        """Where it sends, with the query that it adds to every request."""
        address = service.read_address(str(self.client.base_url), "the base_url of client=")
        query = ((name, str(value)) for name, value in self.client.default_query.items())
        return service.Address(address.url, (*address.query, *query), address.login)

    @cached_property
    def headers(self) -> service.CustomHeaders:
        """The headers of the user's that it adds to every request."""
        stated: Mapping[str, object] = getattr(self.client, "_custom_headers", {})
        return service.CustomHeaders(
            {name.lower(): value for name, value in stated.items() if isinstance(value, str)}
        )

    @cached_property
    def _default_headers(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self.client.default_headers)

    @property
    def account(self) -> str:
        """A word that tells accounts apart and reveals nothing of the secrets."""
        return secrets.account_of(self.client)

    @property
    def secrets(self) -> frozenset[str]:
        """All that is known of its secrets before it has sent anything."""
        return frozenset((*secrets.held_secrets(self.client), *self.address.secrets, *self.headers.secrets))

    @property
    def read_timeout(self) -> float | None:
        """Seconds that it waits for the next byte; None where that is not limited, or not a number."""
        stated = getattr(self.client, "timeout", None)
        seconds = getattr(stated, "read", stated)
        return float(seconds) if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None

    def sends(self, header: str) -> bool:
        """Tell whether it adds a header to every request by itself."""
        return header in self._default_headers

    def version(self, version: str = "", header: str = "") -> str:
        """Return what enters the ledger's key: class, region, open query and headers, `version` as in `header`."""
        region = getattr(self.client, "aws_region", None) or getattr(self.client, "region", None)
        marks = {"client": self.kind, **({"region": region} if isinstance(region, str) else {})}
        return service.client_version(version, self.address, self.headers, marks, header)

    def refuse_pickling(self) -> NoReturn:
        """Say why what holds a client cannot be pickled."""
        raise UsageError(
            f"client= cannot be pickled: {type(self.client).__name__} holds connections and secrets",
            hint="make the client, and the judge or Selector that holds it, in the process that uses them",
        )

    def connected(self, connection: Connection, version_header: str = "") -> Client:
        """Return what sends by it here; a UsageError in another event loop or beside a transport of one's own."""
        # Loads the SDK's HTTP library, and sending is not needed for what the ledger holds.
        from bonwise.calls.providers.supplied_sending import SuppliedSender  # noqa: PLC0415

        return SuppliedSender(self, connection, version_header)


def _sdk_of(client: object) -> tuple[str, bool]:
    """Return whose client it is and whether it is asynchronous. No SDK is loaded to find out."""
    if isinstance(client, type):
        raise UsageError(f"client= is the class {client.__name__}, no client", hint=f"pass one, {_EXAMPLES}")
    for parent in type(client).__mro__:
        sdk = parent.__module__.partition(".")[0]
        if sdk in _SDKS and parent.__name__ in _KINDS:
            return sdk, _KINDS[parent.__name__]
    raise UsageError(
        f"client= is {type(client).__name__}, no client of the openai or anthropic SDK", hint=f"pass one, {_EXAMPLES}"
    )


def supplied_model(spec: str, client: Any, base_url: str | None = None, price: Any = None) -> Model:
    """Read ``provider/model`` for a client; a UsageError where it does not fit the provider, or with a base URL."""
    model = model_from_spec(spec, price=price)
    if base_url:
        raise UsageError(
            "base_url= and client= were both given", hint="a client has an address of its own: leave base_url= out"
        )
    supplied = SuppliedClient(client)
    if supplied.sdk != model.provider:
        raise UsageError(
            f"client= is {type(client).__name__} of the {supplied.sdk} SDK, and the model is {spec!r}",
            hint=f"write {supplied.sdk}/MODEL, or pass a client of the SDK that the model's provider names",
        )
    return Model(model.provider, model.name, price=model.price, client=supplied)

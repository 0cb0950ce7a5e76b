def test_capabilities_agree_with_the_requests(provider, model, ask):
    """What a provider says it can express is what its requests carry when asked for everything."""
    asked = ask(model, schema={"type": "object"}, temperature=0.5, top_logprobs=2)
    body = provider.request(asked, 2, frozenset()).body
    can = provider.capabilities
    carried = [name in body for name in ("temperature", "n", "logprobs")]
    assert carried == [can.temperature, can.samples, can.logprobs]
    assert can.schema == bool({"response_format", "output_config"} & body.keys())


def test_what_makes_draws_differ_is_told(provider):
    """The sentence names the temperature where there is one, and its absence where there is none."""
    assert ("temperature that was sent" in provider.capabilities.draws_differ_by) is provider.capabilities.temperature

"""From a model's reply to what it says, or to the reason why it says nothing usable."""

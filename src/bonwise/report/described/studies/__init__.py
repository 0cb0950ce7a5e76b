"""What each study found put into blocks: a module per study, which has ``described``."""

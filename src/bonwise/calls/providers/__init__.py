"""What differs between the services that run models."""

"""Commands about doors to the outside: webhooks, signatures and workflows."""

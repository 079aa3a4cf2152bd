"""Words about a result as a whole: traits that it should have, twins that should agree."""

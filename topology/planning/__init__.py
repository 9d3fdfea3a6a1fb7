"""From the typed model to the plan: what the passes of the back half are built of."""

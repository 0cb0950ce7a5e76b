"""``bonwise study``: one module per study."""

"""``bonwise study``: one module a study."""

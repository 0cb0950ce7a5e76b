"""What moved in the picks of production."""

DOCUMENTS = {"watch": ("result:WatchDocument", "view:describe")}

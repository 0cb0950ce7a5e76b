"""Every labelled cell counts: figures of tables where pools are labelled in part."""

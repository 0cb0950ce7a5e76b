"""The drawings of pages: figures of a document in, figures of a page out."""

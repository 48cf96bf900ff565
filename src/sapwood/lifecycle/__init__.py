"""The life of data: erasure, legal holds, retention, archives in object storage."""

"""Erasure, legal holds, retention, and archives in object storage."""

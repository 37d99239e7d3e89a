"""Readers: what problem a fitted model of each library answers, and the point it answers with."""

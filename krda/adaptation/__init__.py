"""Two tables of one's own: an adaptation that is chosen, judged, used and saved."""

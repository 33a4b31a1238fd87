"""What this laboratory found: a room of its own."""

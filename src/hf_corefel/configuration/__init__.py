"""What the fields of a configuration may be, and the part of them that a processor must know."""

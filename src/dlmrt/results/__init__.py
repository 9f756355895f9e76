"""Result files: what they hold, how they are named, written, read and compared."""

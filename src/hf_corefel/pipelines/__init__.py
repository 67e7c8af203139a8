"""What ``pipeline("coref-el")`` takes and is told, and the processes that prepare its batches."""

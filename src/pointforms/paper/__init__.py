"""What only the paper needs: organoids, theory lab, memory table, its figures and numbers."""

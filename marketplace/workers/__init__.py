"""The pages that workers see."""

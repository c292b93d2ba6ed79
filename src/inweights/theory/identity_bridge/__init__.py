"""The proofs of Identity Bridge, step by step."""

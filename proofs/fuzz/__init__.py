"""The parts of `proofs.fuzz_sources`: sound transcripts, kinds of damage, a monitor of writes."""

"""What people read: text reports, timelines and graph drawings of problems, schedules and machines.

Reports present facts, they do not find any: peaks, depths and violations come from the checker's Audit, proofs from the
Certificate.
"""

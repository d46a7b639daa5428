"""The scheduling queue: every pod that waits for a node is in exactly one place.

                 open                   pop
   add ──> gates ────> ACTIVE ───────────────────────> in flight ── done ──> bound, or deleted
           │   ^        ^  ^                            │   ^
      shut │   │ event  │  │ time                       │   │ pop, if no pod is active
           v   │ for it │  └────────── BACKOFF ─────────│───┘ and this was no error
           GATED        │                 ^             │
                     no │                 │ yes         │ failed: which events since it was taken?
                        └─── still in back-off? <───────┤ an error, or an event that helped
                             (past the gates)   ^       │
                                                │       └── none that helped ──> UNSCHEDULABLE
                                                └────────── event that helps ───────────┘

Pods that are GATED or UNSCHEDULABLE for five minutes are retried even without an event, or earlier if a plugin has set
a time, and `activate` moves a pod to ACTIVE unless it is gated. Everything is synchronous. The clock shows the time of
day, because back-off ends at full seconds, but never runs backwards.
"""

"""The scheduling queue: every pod that waits for a node is in exactly one place.

                 open                   pop
   add ──> gates ────> ACTIVE ───────────────────────> in flight ── done ──> bound, or gone
           │   ^        ^  ^                            │   ^
      shut │   │ event  │  │ time                       │   │ pop, if nobody is active
           v   │ for it │  └────────── BACKOFF ─────────│───┘ and it was no error
           GATED        │                 ^             │
                     no │                 │ yes         │ failed: what has happened since it was taken?
                        └─── still in back-off? <───────┤ an error, or something that helps
                             (past the gates)   ^       │
                                                │       └── nothing that helps ──> UNSCHEDULABLE
                                                └────────── event that helps ───────────┘

Pods that are GATED or UNSCHEDULABLE for five minutes get another try even if nothing happens, or earlier if a plugin
has named the time, and `activate` brings any pod to ACTIVE that the gates let pass. Everything is synchronous. Time is
what the clock says: seconds as on the wall, because back-off ends with a whole one, that never run backwards.
"""

"""What every room may use and what knows no theory: errors, symbols, numbers, proofs, files.

Read ``symbols`` first, the one place where shared symbols are made, then ``errors``; ``scalars`` makes exact numbers of
whatever a user passes, ``proof`` has derivations that replay, ``atoms`` the classes of nodes that several rooms tell
apart. ``words`` are sentences that keep their values, ``display`` is how objects show themselves, and ``foreign`` says
who answers for rooms above. ``files``, ``disk_cache`` and ``progress`` are about the world outside.
"""

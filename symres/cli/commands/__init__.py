"""The commands, a module each: ``NAME_command``; ``list_command`` has ``show`` and ``cache`` as well.

``bundle`` writes the files of ``derive --out``, ``surveys`` the long lists.
"""

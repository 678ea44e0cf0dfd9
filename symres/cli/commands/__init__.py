"""The commands, a module each: ``NAME_command``.

``bundle`` writes the files of ``derive --out``, ``surveys`` the long lists, ``asked_quantity`` finds what
``--quantity`` names.
"""

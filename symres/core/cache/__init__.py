"""Results that are kept on disk between two runs, for as long as nothing changes that they come from.

``disk_cache`` keeps texts in a folder, under a hash of what they come from, and says which cache is in use.
Nothing is kept unless somebody asks for it: the command line does.
"""

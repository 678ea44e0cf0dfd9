"""Extensions of Sphinx for this documentation.

figures       figures of symres, which belong to no window of pyplot, in the gallery
"""
